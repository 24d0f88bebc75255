"""memory-recalled → supervision pair: which memory answered which question.

Many new pairs of a user → adapter-retrain.
"""

from collections.abc import Sequence
from hashlib import blake2b

import faust

from streams.agents.vectors import check_text
from streams.delivery import Delivery, Stream
from streams.events import AdapterRetrain, Cause, MemoryRecalled
from streams.faustapp import raw_topic
from streams.intake import Received
from streams.outbox import Outbox
from streams.records import Pair, encode_pair
from streams.refusal import Reason, RefusedError
from streams.settings import Settings
from streams.store import PAIR, RecordStore, Write, field
from streams.supervision import cause_of_pairs
from streams.topics import Topics
from streams.wire import encode, key_of, seconds


def register(
    app: faust.App,
    topics: Topics,
    settings: Settings,
    delivery: Delivery,
    *,
    store: RecordStore,
    outbox: Outbox,
) -> None:
    """Add the agent to ``app``."""

    async def keep(recalls: Sequence[Received[MemoryRecalled]]) -> None:
        writes = [_write(received, await _question(received.event, store)) for received in recalls]
        await store.put(writes)
        user_ids = list(dict.fromkeys(write.user_id for write in writes))
        found = await store.adapters.supervision(user_ids)
        for user_id, supervision in zip(user_ids, found, strict=True):
            if cause := cause_of_pairs(supervision, settings):
                await request(user_id, supervision.pairs, cause)

    async def request(user_id: str, pairs: int, cause: Cause) -> None:
        """Ask for a retraining, once: a replay finds the note, or repeats the request's id."""
        retrain = AdapterRetrain(user_id=user_id, request_id=f"pairs-{pairs}", reason=cause)
        await outbox.send(topics.adapter_retrain, key=key_of(user_id), value=encode(retrain))
        await store.adapters.note_request(user_id, pairs)

    @app.agent(raw_topic(app, topics.memory_recalled), name="keep_pairs", concurrency=1)
    async def keep_pairs(stream: Stream) -> None:
        """Make each pair durable, ask for a retraining when there are enough, then ack."""
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
