"""A running worker says what it did."""

from urllib.request import urlopen

from prometheus_client.parser import text_string_to_metric_families
from reading import until

from streams.client import Client
from streams.topics import Topics


def test_a_worker_counts_what_it_applied_and_answered(settings, workers):
    topics = Topics(settings.namespace)
    worker = workers(role="serve")
    with Client(settings) as client:
        token = client.remember("ada", "I planted tulips by the gate").token
        client.ask("ada", "which flowers did I plant?", after=token, deadline_ms=20_000)

    until(lambda: "ok" in statuses(worker))  # a reply is counted once the broker has it

    found = samples(worker)
    assert found["seedmem_events_total", ("applied", topics.memory_created)] == 1
    assert found["seedmem_applied_after_seconds_count", (topics.memory_created,)] == 1
    assert found["seedmem_hot_users", ()] == 1
    assert found["seedmem_hot_bytes", ()] > 0
    assert found["seedmem_cold_loads_total", ()] == 1
    assert found["seedmem_event_loop_lag_seconds_count", ()] > 0
    assert statuses(worker) == {"ok"}
    lags = {series for name, series in found if name == "seedmem_lag_events"}
    assert {partition for partition, _ in lags} == {"0", "1", "2", "3"}
    assert topics.memory_created in {topic for _, topic in lags}


def statuses(worker):
    """The statuses of the replies that were counted."""
    return {series[0] for name, series in samples(worker) if name == "seedmem_query_seconds_count"}


def samples(worker):
    """Return the value of each series, by its name and its labels' values in their names' order."""
    with urlopen(f"http://127.0.0.1:{worker.port}/metrics") as answer:
        text = answer.read().decode()
    return {
        (sample.name, tuple(value for _, value in sorted(sample.labels.items()))): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
        if sample.name.startswith("seedmem_")
    }
