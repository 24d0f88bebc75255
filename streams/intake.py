"""What happens to an event before its handler: decoded, checked, or buried (dead-lettered)."""

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

LARGEST_BURIED = 600_000  # bytes; a longer payload is not copied, its place says where it is
LONGEST_KEY = 1_024  # bytes of a key that are copied
LONGEST_WORDS = 1_024  # characters of a reason and of a pointer

E = TypeVar("E", bound=Event)


@dataclass(frozen=True, slots=True)
class Received(Generic[E]):
    """An event and the place that it was read from."""

    event: E
    partition: Partition
    offset: int
    timestamp: float
    """Seconds since the epoch, as the message says."""


@lru_cache(maxsize=16_384)  # a user's events come in runs, and murmur2 in Python takes 20 µs
def owner_of(key: bytes, partitions: int) -> int:
    """Return the partition of a user's key: Kafka's default partitioner, murmur2."""
    return int((murmur2(key) & 0x7FFFFFFF) % partitions)


class Intake:
    """Admits the events of this worker's partitions.

    Args:
        outbox: for dead letters.
        dead_letter: name of their topic; None when another role reads the same events
            and buries what this one refuses.
        partitions: count of every input topic.
    """

    def __init__(self, outbox: Outbox, *, dead_letter: str | None, partitions: int) -> None:
        self._outbox, self._dead_letter, self._partitions = outbox, dead_letter, partitions

    def admit(self, raw: EventT[bytes], kind: type[E]) -> Received[E]:
        """Return the event.

        A producer with another partitioner than Kafka's default (murmur2) puts a user on
        a partition that another worker owns. Its events are refused: a copy on the right
        partition would come behind later events, and bring back what they had deleted.

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
        if owner != message.partition:
            detail = f"on partition {message.partition}, want {owner}: partition by murmur2 of key"
            raise RefusedError(Reason.PARTITION, detail, field="$.user_id")
        place = Partition(message.topic, message.partition)
        return Received(event, place, message.offset, message.timestamp)

    async def bury(self, raw: EventT[bytes], error: RefusedError) -> None:
        """Put the event into the dead-letter topic and return when the broker has it."""
        if self._dead_letter is None:
            return
        message, key = raw.message, (raw.key or b"")[:LONGEST_KEY]
        small = len(raw.value or b"") <= LARGEST_BURIED
        letter = DeadLetter(
            topic=message.topic,
            partition=message.partition,
            offset=message.offset,
            reason=error.reason,
            field=error.field[:LONGEST_WORDS],
            detail=error.detail[:LONGEST_WORDS],
            key=None if raw.key is None else key,
            value=raw.value if small else None,
        )
        await self._outbox.send(self._dead_letter, key=key, value=encode(letter))
        metrics.buried(message.topic, error.reason)
        place = (message.topic, message.partition, message.offset)
        logger.warning("dead letter: %s[%d]@%d: %s at %s", *place, error.reason, letter.field)
