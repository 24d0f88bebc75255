"""user-erased → erase-receipt: everything of a user goes, and stays gone after a replay."""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass

import faust

from streams.delivery import Delivery, Stream
from streams.events import EraseReceipt, UserErased
from streams.faustapp import raw_topic
from streams.intake import Received
from streams.outbox import Outbox
from streams.settings import Settings
from streams.store import ERASED, EXTRACTED, MEMORY, PAIR, SUBJECT, RecordStore
from streams.topics import Topics
from streams.users import HotUsers
from streams.wire import encode, key_of

EndsOf = Callable[[Iterable[str], int], Awaitable[dict[str, int]]]
"""Topics and a partition number → the offset of each one's next event."""


@dataclass(frozen=True, kw_only=True)
class Erasing:
    """What erasing a user depends on."""

    topics: Topics
    store: RecordStore
    users: HotUsers
    outbox: Outbox
    ends_of: EndsOf

    async def erase_all(self, erasures: Sequence[Received[UserErased]]) -> None:
        """Erase each user durably and send the receipt."""
        for received in erasures:
            user_id = received.event.user_id
            async with self.users.changing:
                deleted = await self._erase(received)
            receipt = EraseReceipt(
                request_id=received.event.request_id,
                user_id=user_id,
                deleted=deleted,
                found=(await self.users.get(user_id)).state.size,  # a new look at the user
            )
            topic, key = self.topics.erase_receipt, key_of(user_id)
            await self.outbox.send(topic, key=key, value=encode(receipt))

    async def _erase(self, received: Received[UserErased]) -> dict[str, int]:
        """Erase what came before now; an erasure that is read again leaves newer data alone."""
        user_id = received.event.user_id
        if (await self.store.fences(user_id)).get(ERASED, -1) >= received.offset:
            return {}
        read_from = {
            MEMORY: self.topics.memory_created,
            EXTRACTED: self.topics.memory_created,
            SUBJECT: self.topics.subject_extracted,
            PAIR: self.topics.memory_recalled,
        }
        ends = await self.ends_of(set(read_from.values()), received.partition.number)
        fences = {kind: ends[topic] - 1 for kind, topic in read_from.items()}
        self.users.forget(user_id)  # a question under way may still answer, none after it
        deleted = await self.store.erase(user_id, fences | {ERASED: received.offset})
        self.users.forget(user_id)
        return deleted


def register(app: faust.App, settings: Settings, delivery: Delivery, erasing: Erasing) -> None:
    """Add the agent to ``app``."""

    @app.agent(raw_topic(app, erasing.topics.user_erased), name="erase_users", concurrency=1)
    async def erase_users(stream: Stream) -> None:
        """Erase each user durably, send the receipt, then ack."""
        await delivery.in_batches(
            stream,
            lambda received: received,
            erasing.erase_all,
            kind=UserErased,
            size=settings.batch_size,
            within=settings.batch_wait,
        )
