"""What happens to an event before its handler: decoded, checked, forwarded, or buried."""

import logging
from dataclasses import dataclass
from functools import lru_cache
from typing import Generic, TypeVar

from aiokafka.partitioner import murmur2
from faust.types import EventT

from streams import metrics
from streams.events import DeadLetter, Event
from streams.outbox import Outbox
from streams.progress import Partition
from streams.refusal import Reason, RefusedError
from streams.wire import decode, encode, key_of

logger = logging.getLogger(__name__)

FORWARDED = "seedmem-forwarded"  # header of an event that was moved to its owner's partition
LARGEST_BURIED = 600_000  # bytes; a longer payload is not copied, its place says where it is

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Received(Generic[E]):
    """An event and the place that it was read from."""

    event: E
    partition: Partition
    offset: int


@lru_cache(maxsize=16_384)  # a user's events come in runs, and murmur2 in Python takes 20 µs
def owner_of(key: bytes, partitions: int) -> int:
    """Return the partition of a user's key: Kafka's default partitioner, murmur2."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)


class Intake:
    """Admits the events of this worker's partitions.

    Args:
        outbox: for dead letters and forwarded events.
        dead_letter: name of their topic.
        partitions: count of every input topic.
    """

    def __init__(self, outbox: Outbox, *, dead_letter: str, partitions: int) -> None:
        self._outbox, self._dead_letter, self._partitions = outbox, dead_letter, partitions

    async def admit(self, raw: EventT[bytes], kind: type[E]) -> Received[E] | None:
        """Return the event, or None when it was forwarded to the partition that owns its user.

        A producer with another partitioner than Kafka's default puts a user on
        the wrong partition; its events are moved once, never half-applied.

        Raises:
            RefusedError: it cannot be applied, ever.
        """
        event = decode(raw.value, kind)
        key = key_of(event.user_id)
        if raw.key != key:
            got = "no key" if raw.key is None else f"key {bytes(raw.key[:64])!r}"
            raise RefusedError(Reason.KEY, f"want the user id as key, got {got}", field="$.user_id")
        message = raw.message
        owner = owner_of(key, self._partitions)
        if owner == message.partition:
            return Received(event, Partition(message.topic, message.partition), message.offset)
        if FORWARDED in raw.headers:
            detail = f"partition {message.partition} after forwarding, want {owner}"
            raise RefusedError(Reason.PARTITION, detail, field="$.user_id")
        await self._outbox.send(
            message.topic, key=key, value=raw.value, partition=owner, headers={FORWARDED: b"1"}
        )
        metrics.forwarded(message.topic)
        return None

    async def bury(self, raw: EventT[bytes], error: RefusedError) -> None:
        """Put the event into the dead-letter topic and return when the broker has it."""
        message = raw.message
        small = len(raw.value or b"") <= LARGEST_BURIED
        letter = DeadLetter(
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            reason=error.reason,
            field=error.field,
            detail=error.detail,
            key=raw.key,
            value=raw.value if small else None,
        )
        await self._outbox.send(self._dead_letter, key=raw.key, value=encode(letter))
        metrics.buried(message.topic, error.reason)
        place = (message.topic, message.partition, message.offset)
        logger.warning("dead letter: %s[%d]@%d: %s at %s", *place, error.reason, error.field)
