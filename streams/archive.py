"""Reading a topic beside the service: from its beginning to its end, or what comes from now on.

No consumer group is joined and nothing is committed.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from streams.errors import TopicsError, TransientError
from streams.reachable import require_broker
from streams.security import client_options
from streams.settings import Settings

if TYPE_CHECKING:
    from kafka import KafkaConsumer

_PATIENCE_MS = 10_000  # until a broker must have answered
_POLL_MS = 200


def read_all(settings: Settings, topic: str) -> Iterator[Any]:
    """Yield the records (kafka-python's) that every partition of ``topic`` holds now.

    Raises:
        TopicsError: the topic does not exist.
        TransientError: Kafka does not answer.
    """
    with _reading(settings, topic) as consumer:
        partitions = list(consumer.assignment())
        starts = consumer.beginning_offsets(partitions, timeout_ms=_PATIENCE_MS)
        ends = consumer.end_offsets(partitions, timeout_ms=_PATIENCE_MS)
        behind = {p for p in partitions if starts[p] < ends[p]}
        while behind:
            batches = consumer.poll(timeout_ms=_PATIENCE_MS)
            if not batches:
                raise TransientError(f"{topic}: nothing within {_PATIENCE_MS / 1_000:g} s")
            for partition, records in batches.items():
                yield from (record for record in records if record.offset < ends[partition])
            behind = {p for p in behind if consumer.position(p) < ends[p]}


@contextmanager
def follow(settings: Settings, topic: str, *, seconds: float) -> Iterator[Iterator[Any]]:
    """Give an iterator of the records that come to ``topic`` from now on, for ``seconds``.

    Raises as ``read_all``.
    """
    with _reading(settings, topic) as consumer:
        consumer.seek_to_end(*consumer.assignment())
        for partition in consumer.assignment():  # "now" is known when this is done
            consumer.position(partition, timeout_ms=_PATIENCE_MS)
        yield _coming(consumer, time.monotonic() + seconds)


def end_of(settings: Settings, topic: str, partition: int) -> int:
    """Return the offset that the next record of a partition will get. Raises as ``read_all``."""
    from kafka import TopicPartition

    with _reading(settings, topic) as consumer:
        place = TopicPartition(topic, partition)
        return int(consumer.end_offsets([place], timeout_ms=_PATIENCE_MS)[place])


def _coming(consumer: "KafkaConsumer", until: float) -> Iterator[Any]:
    while time.monotonic() < until:
        for records in consumer.poll(timeout_ms=_POLL_MS).values():
            yield from records


@contextmanager
def _reading(settings: Settings, topic: str) -> Iterator["KafkaConsumer"]:
    """Give a consumer that all partitions of ``topic`` are assigned to."""
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import KafkaError

    require_broker(settings.kafka)
    consumer = KafkaConsumer(
        **client_options(settings),
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="earliest",
        allow_auto_create_topics=False,
    )
    try:
        consumer.bootstrap(timeout_ms=_PATIENCE_MS)
        partitions = [TopicPartition(topic, p) for p in consumer.partitions_for_topic(topic)]
        if not partitions:
            raise TopicsError(f"topic {topic} does not exist; run: seedmem topics create")
        consumer.assign(partitions)
        yield consumer
    except KafkaError as error:
        raise TransientError(
            f"cannot read {topic} from Kafka at {settings.kafka}: {error}"
        ) from error
    finally:
        consumer.close(autocommit=False, timeout_ms=1_000)
