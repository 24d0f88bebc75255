"""user-erased → erase-receipt: everything of a user goes, and stays gone after a replay."""

from collections.abc import Awaitable, Callable, Iterable, Sequence

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


def register(
    app: faust.App,
    topics: Topics,
    settings: Settings,
    delivery: Delivery,
    *,
    store: RecordStore,
    users: HotUsers,
    outbox: Outbox,
    ends_of: EndsOf,
) -> None:
    """Add the agent to ``app``."""
    read_from = {
        MEMORY: topics.memory_created,
        EXTRACTED: topics.memory_created,
        SUBJECT: topics.subject_extracted,
        PAIR: topics.memory_recalled,
    }

    async def erase_all(erasures: Sequence[Received[UserErased]]) -> None:
        for received in erasures:
            async with users.changing:
                deleted = await _erase(received)
            receipt = EraseReceipt(
                request_id=received.event.request_id,
                user_id=received.event.user_id,
                deleted=deleted,
                found=await _found(received.event.user_id),
            )
            key = key_of(receipt.user_id)
            await outbox.send(topics.erase_receipt, key=key, value=encode(receipt))

    async def _erase(received: Received[UserErased]) -> dict[str, int]:
        """Erase what came before now; an erasure that is read again leaves newer data alone."""
        user_id = received.event.user_id
        if (await store.fences(user_id)).get(ERASED, -1) >= received.offset:
            return {}
        ends = await ends_of(set(read_from.values()), received.partition.number)
        fences = {kind: ends[topic] - 1 for kind, topic in read_from.items()}
        users.forget(user_id)  # a question under way may still answer, none after it
        deleted = await store.erase(user_id, fences | {ERASED: received.offset})
        users.forget(user_id)
        return deleted

    async def _found(user_id: str) -> int:
        """Return how many memories a new look at the user finds."""
        hot = await users.get(user_id)
        return hot.state.size

    @app.agent(raw_topic(app, topics.user_erased), name="erase_users", concurrency=1)
    async def erase_users(stream: Stream) -> None:
        """Erase each user durably, send the receipt, then ack."""
        await delivery.in_batches(
            stream,
            lambda received: received,
            erase_all,
            kind=UserErased,
            size=settings.batch_size,
            within=settings.batch_wait,
        )
