"""One trace from a produced event to its reply, over real Kafka, and nothing told that is private.

The client's spans stay in this process; the worker sends its own to a collector, as it would.
"""

from hashlib import blake2b

import msgspec
import pytest
from collector import collecting
from kafka import KafkaProducer
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from reading import until

from streams import tracing
from streams.archive import read_all
from streams.client import Client
from streams.events import MemoryCreated
from streams.topics import Topics
from streams.wire import encode, key_of

SECRET = "the-tulips-by-the-gate"
USER = "ada-lovelace@example.com"


@pytest.fixture(scope="module")
def exporter():
    """Spans of this process. It can have one provider only, so it keeps it."""
    exporter, provider = InMemorySpanExporter(), TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    trace.set_tracer_provider(provider)
    return exporter


@pytest.fixture
def asked(exporter, monkeypatch):
    """Spans of clients in this process, from now on."""
    exporter.clear()
    monkeypatch.setattr(tracing, "_tracer", None)
    return exporter


@pytest.fixture
def collector(monkeypatch):
    with collecting() as collector:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", collector.endpoint)
        monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "100")  # ms
        yield collector


def ids(span):
    """Return trace, own and parent's id of a span of the SDK, in hex."""
    own, parent = span.get_span_context(), span.parent
    return f"{own.trace_id:032x}", f"{own.span_id:016x}", f"{parent.span_id:016x}" if parent else ""


def received(collector, name):
    """Return the one span of that name, and its trace's, own and parent's id."""
    until(lambda: name in {span.name for _, span in collector.spans()})
    [(service, span)] = [(s, span) for s, span in collector.spans() if span.name == name]
    return service, span, (span.trace_id.hex(), span.span_id.hex(), span.parent_span_id.hex())


def test_a_question_and_a_memory_are_one_trace_each_from_the_client_to_the_reply(
    settings, workers, asked, collector
):
    topics, worker = Topics(settings.namespace), workers(tracing=True)
    with Client(msgspec.structs.replace(settings, tracing=True)) as client:
        token = client.remember(USER, f"I planted {SECRET}").token
        answer = client.ask(USER, f"where is {SECRET}?", after=token, deadline_ms=20_000)
    sent = {span.name: ids(span) for span in asked.get_finished_spans()}
    ask, question = sent["ask"], sent[f"send {topics.query}"]
    memory = sent[f"send {topics.memory_created}"]

    service, query_span, query = received(collector, f"process {topics.query}")
    _, _, index = received(collector, f"process {topics.memory_created}")
    _, _, reply = received(collector, f"send {topics.query_reply}")
    [record] = list(read_all(settings, topics.query_reply))
    assert answer.hits
    assert service == "seedmem-serve"
    assert ask[2] == memory[2] == ""
    assert question[::2] == ask[:2]
    assert query[::2] == question[:2]
    assert reply[::2] == query[:2]
    assert index[::2] == memory[:2]
    assert dict(record.headers)["traceparent"].startswith(f"00-{reply[0]}-{reply[1]}-".encode())
    told = {a.key: a.value.string_value for a in query_span.attributes}
    assert told["seedmem.status"] == "ok"
    assert told["seedmem.user"] == blake2b(USER.encode(), digest_size=16).hexdigest()
    assert worker.stop() == 0


def test_no_span_holds_a_text_or_a_users_id(settings, workers, asked, collector):
    topics, worker = Topics(settings.namespace), workers(tracing=True)
    with Client(msgspec.structs.replace(settings, tracing=True)) as client:
        token = client.remember(USER, f"I planted {SECRET}").token
        client.ask(USER, f"where is {SECRET}?", after=token, deadline_ms=20_000)
        client.ask(USER, SECRET, as_of=SECRET, deadline_ms=20_000)  # refused, and quoted
    received(collector, f"send {topics.dead_letter}")
    worker.stop()  # sends the rest

    own = "".join(span.to_json() for span in asked.get_finished_spans())
    theirs = b"".join(collector.received)
    assert "seedmem.user" in own
    assert b"seedmem.user" in theirs
    for private in (SECRET, USER):
        assert private not in own
        assert private.encode() not in theirs


def test_a_strangers_broken_headers_do_no_harm(settings, workers, asked, collector):
    topics = Topics(settings.namespace)
    workers(tracing=True)
    headers = [("traceparent", b"\xff\xfenonsense"), ("tracestate", b""), ("other", b"")]
    producer = KafkaProducer(bootstrap_servers=settings.kafka, acks="all")
    memory = MemoryCreated(user_id=USER, memory_id="m", text="the tap leaks")

    producer.send(topics.memory_created, encode(memory), key=key_of(USER), headers=headers).get(10)

    producer.close()
    _, _, (_, _, parent) = received(collector, f"process {topics.memory_created}")
    assert parent == ""


def test_without_the_setting_no_header_is_written_and_no_span_is_made(
    settings, workers, asked, collector
):
    topics = Topics(settings.namespace)
    workers()
    with Client(settings) as client:
        token = client.remember(USER, "the tap leaks").token
        client.ask(USER, "what leaks?", after=token, deadline_ms=20_000)

    records = [*read_all(settings, topics.query), *read_all(settings, topics.query_reply)]
    assert [list(record.headers) for record in records] == [[], []]
    assert asked.get_finished_spans() == ()
    assert collector.received == []


def test_a_collector_that_is_away_changes_nothing(settings, workers, monkeypatch):
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    worker = workers(tracing=True)
    with Client(settings) as client:
        token = client.remember(USER, "the tap leaks").token
        answer = client.ask(USER, "what leaks?", after=token, deadline_ms=20_000)

    assert answer.hits
    assert worker.stop() == 0
