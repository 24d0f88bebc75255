"""memory-recalled → supervision pair: which memory answered which question."""

from collections.abc import Sequence
from hashlib import blake2b

import faust

from streams.agents.vectors import check_text
from streams.delivery import Delivery, Stream
from streams.events import MemoryRecalled
from streams.faustapp import raw_topic
from streams.intake import Received
from streams.records import Pair, encode_pair
from streams.refusal import Reason, RefusedError
from streams.settings import Settings
from streams.store import PAIR, RecordStore, Write, field
from streams.topics import Topics
from streams.wire import seconds


def register(
    app: faust.App, topics: Topics, settings: Settings, delivery: Delivery, *, store: RecordStore
) -> None:
    """Add the agent to ``app``."""

    async def keep(recalls: Sequence[Received[MemoryRecalled]]) -> None:
        writes = [_write(received, await _question(received.event, store)) for received in recalls]
        await store.put(writes)

    @app.agent(raw_topic(app, topics.memory_recalled), name="keep_pairs", concurrency=1)
    async def keep_pairs(stream: Stream) -> None:
        """Make each pair durable, then ack it."""
        await delivery.in_batches(
            stream,
            check,
            keep,
            kind=MemoryRecalled,
            size=settings.batch_size,
            within=settings.batch_wait,
        )


def check(received: Received[MemoryRecalled]) -> Received[MemoryRecalled]:
    """Return the event as it came. Raises ``RefusedError``."""
    event = received.event
    seconds(event.recalled_at, field="recalled_at")
    if event.query is not None:
        check_text(event.query, field="$.query")
    elif event.request_id is None:
        raise RefusedError(Reason.SCHEMA, "want request_id or query, got neither", field="$.query")
    return received


async def _question(event: MemoryRecalled, store: RecordStore) -> str:
    if event.query is not None:
        return event.query
    request_id = event.request_id or ""
    question = await store.questions.find(event.user_id, request_id)
    if question is None:
        detail = (
            f"request {request_id[:40]!r} is not among the user's latest; send its text as query"
        )
        raise RefusedError(Reason.UNKNOWN_REQUEST, detail, field="$.request_id")
    return question


def _write(received: Received[MemoryRecalled], question: str) -> Write:
    """One pair per memory and question: a repeated recall is the same pair."""
    event = received.event
    pair = Pair(
        query=question,
        memory_id=event.memory_id,
        outcome=event.outcome,
        recalled_at=seconds(event.recalled_at, field="recalled_at"),
    )
    identity = blake2b(f"{len(question)}:{question}{event.memory_id}".encode(), digest_size=16)
    name = field(PAIR, identity.hexdigest())
    return Write(event.user_id, name, None, received.offset, encode_pair(pair))
