"""Reading a whole topic once, from its beginning to where it ends now."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from streams.errors import TopicsError, TransientError
from streams.reachable import require_broker

if TYPE_CHECKING:
    from kafka import KafkaConsumer

_PATIENCE_MS = 10_000  # until a broker must have answered


def read_all(kafka: str, topic: str) -> Iterator[Any]:
    """Yield the records (kafka-python's) of every partition of ``topic``.

    No consumer group is joined and nothing is committed.

    Raises:
        TopicsError: the topic does not exist.
        TransientError: Kafka does not answer.
    """
    from kafka import KafkaConsumer
    from kafka.errors import KafkaError

    require_broker(kafka)
    consumer = KafkaConsumer(
        bootstrap_servers=kafka,
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        allow_auto_create_topics=False,
    )
    try:
        consumer.bootstrap(timeout_ms=_PATIENCE_MS)
        yield from _records(consumer, topic)
    except KafkaError as error:
        raise TransientError(f"cannot read {topic} from Kafka at {kafka}: {error}") from error
    finally:
        consumer.close(autocommit=False, timeout_ms=1_000)


def _records(consumer: "KafkaConsumer", topic: str) -> Iterator[Any]:
    from kafka import TopicPartition

    partitions = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]
    if not partitions:
        raise TopicsError(f"topic {topic} does not exist; run: seedmem topics create")
    consumer.assign(partitions)
    starts = consumer.beginning_offsets(partitions, timeout_ms=_PATIENCE_MS)
    ends = consumer.end_offsets(partitions, timeout_ms=_PATIENCE_MS)
    behind = {p for p in partitions if starts[p] < ends[p]}
    while behind:
        batches = consumer.poll(timeout_ms=_PATIENCE_MS)
        if not batches:
            raise TransientError(f"{topic}: nothing more within {_PATIENCE_MS / 1_000:g} s")
        for partition, records in batches.items():
            yield from (record for record in records if record.offset < ends[partition])
        behind = {p for p in behind if consumer.position(p) < ends[p]}
