"""What a run showed beside its end: who leads a partition, what was done twice, who died when."""

from collections import Counter
from contextlib import suppress
from typing import Any
from urllib.error import URLError
from urllib.request import urlopen

from kafka import KafkaAdminClient
from kafka.errors import KafkaError
from prometheus_client.parser import text_string_to_metric_families

from scenarios.stage import Stage
from scenarios.watch import Watch
from streams.archive import read_all
from streams.events import QueryReply
from streams.wire import decode


def leader_of(stage: Stage, topic: str, partition: int) -> int:
    """Return the index of the node that leads a partition, -1 while none does."""
    found = [p for p in _partitions(stage, topic) if p["partition_index"] == partition]
    return int(found[0]["leader_id"]) if found else -1


def in_sync(stage: Stage, topic: str) -> list[int]:
    """Return how many replicas of each partition are in sync."""
    return [len(partition["isr_nodes"]) for partition in _partitions(stage, topic)]


def _partitions(stage: Stage, topic: str) -> Any:
    """Describe a topic's partitions; none while the broker that is asked is away."""
    with suppress(KafkaError), KafkaAdminClient(bootstrap_servers=stage.settings.kafka) as admin:
        [described] = admin.describe_topics([topic])
        return described["partitions"]
    return []


def replied_twice(stage: Stage) -> int:
    """Return how many requests have more than one reply."""
    records = read_all(stage.settings, stage.topics.query_reply)
    replies = Counter(decode(record.value, QueryReply).request_id for record in records)
    return sum(count > 1 for count in replies.values())


def applied(worker: Any) -> int:
    """Return how many events a worker has applied, questions left out; 0 while it starts."""
    return sum(
        int(value)
        for name, labels, value in samples(worker)
        if (name, labels.get("outcome")) == ("seedmem_events_total", "applied")
        and not labels["topic"].endswith("-query")
    )


def assigned(worker: Any) -> set[str]:
    """Return the numbers of the partitions of memories that a running worker owns."""
    return {
        labels["partition"]
        for name, labels, _ in samples(worker)
        if name == "seedmem_applied_offset" and labels["topic"].endswith("memory-created")
    }


def samples(worker: Any) -> list[tuple[str, dict[str, str], float]]:
    """Return what a worker's ``/metrics`` say: name, labels, value; nothing while it starts."""
    text = ""
    with suppress(URLError), urlopen(f"http://127.0.0.1:{worker.port}/metrics") as answer:
        text = answer.read().decode()
    families = text_string_to_metric_families(text)
    return [(s.name, s.labels, s.value) for family in families for s in family.samples]


def ended(stage: Stage, watch: Watch) -> dict[str, object]:
    """Assert the end that every scenario must have, and return the facts of its report."""
    stage.settle()
    plain = stage.check()
    assert watch.foreign == []
    return {
        "events": len(stage.told),
        "effects": plain.counts["accepted"] + plain.counts["recalled"],
        "stale_or_sent_again": plain.counts["refused"],
        "answers": dict(watch.statuses),
        "foreign": len(watch.foreign),
        "replied_twice": replied_twice(stage),
        "longest_gap_s": watch.longest_gap,
    }
