"""What a test reads from the run's Kafka, and how it waits."""

import json
import time
from collections.abc import Callable
from typing import Any, TypeVar

from kafka import KafkaConsumer, TopicPartition

from streams.settings import Settings

PATIENCE = 30.0  # seconds; the machine may be busy

R = TypeVar("R")


def until(look: Callable[[], R], *, timeout: float = PATIENCE) -> R:
    """Return the first true result of ``look``."""
    deadline = time.monotonic() + timeout
    while not (found := look()):
        assert time.monotonic() < deadline, f"still {found!r} after {timeout} s"
        time.sleep(0.05)
    return found


def everything_in(settings: Settings, topic: str) -> list[dict[str, Any]]:
    """Return every event of a topic, decoded, partition by partition."""
    consumer = KafkaConsumer(bootstrap_servers=settings.kafka, group_id=None)
    try:
        places = [TopicPartition(topic, number) for number in range(settings.partitions)]
        consumer.assign(places)
        consumer.seek_to_beginning(*places)
        ends, events = consumer.end_offsets(places), []
        while any(consumer.position(place) < ends[place] for place in places):
            for records in consumer.poll(timeout_ms=200).values():
                events += [json.loads(record.value) for record in records]
        return events
    finally:
        consumer.close()
