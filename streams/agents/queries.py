"""query → query-reply: a reply to every question within its deadline, also to a wrong one."""

import asyncio
import contextlib
import dataclasses
import logging
import time
from concurrent.futures import Executor
from dataclasses import dataclass

import faust
import msgspec
from aiokafka.errors import MessageSizeTooLargeError

from seedmem.encode import Encoder
from seedmem.errors import EncoderError
from seedmem.retrieve import Answer, Hit, Query, retrieve
from streams import metrics, tracing
from streams.agents.questions import question_of
from streams.delivery import Delivery, Raw, Stream
from streams.errors import StreamsError
from streams.events import QueryAsked, QueryReply, Status, WireHit
from streams.faustapp import raw_topic
from streams.intake import Received
from streams.outbox import Outbox
from streams.progress import Partition, Progress
from streams.refusal import Reason, RefusedError
from streams.settings import Settings
from streams.store import RecordStore
from streams.topics import Topics
from streams.users import HotUser, HotUsers
from streams.wire import decode, encode, key_of

logger = logging.getLogger(__name__)

MARGIN = 0.9  # of a deadline is for the answer, the rest for its way back
LONGEST_SEND = 60.0  # seconds


@dataclass(frozen=True, kw_only=True)
class Answering:
    """What answering a query depends on."""

    topics: Topics
    settings: Settings
    encoder: Encoder
    store: RecordStore
    users: HotUsers
    progress: Progress
    outbox: Outbox
    pool: Executor
    """For the CPU work of queries alone."""


def register(app: faust.App, delivery: Delivery, answering: Answering) -> None:
    """Add the agent to ``app``."""

    @app.agent(raw_topic(app, answering.topics.query), name="answer_queries", concurrency=1)
    async def answer_queries(stream: Stream) -> None:
        """Answer questions side by side; ack each once its reply is with the broker."""
        await delivery.each(
            stream,
            lambda received: answer(received, answering),
            lambda raw, refusal: refuse(raw, refusal, answering),
            kind=QueryAsked,
            in_flight=answering.settings.queries_in_flight,
        )


async def answer(received: Received[QueryAsked], answering: Answering) -> None:
    """Reply to one query.

    Raises:
        RefusedError: it is not a question that can be answered.
    """
    asked = received.event
    clock = asyncio.get_running_loop().time
    started = clock()
    question = question_of(asked, answering.encoder.space, answering.topics, answering.settings)
    deadline = asked.deadline_ms / 1000 if asked.deadline_ms else answering.settings.deadline
    waited = max(0.0, time.time() - received.timestamp)
    progress = _Attempt(received, question, answering)
    try:
        async with asyncio.timeout(MARGIN * deadline - waited):
            reply = await progress.reply()
    except TimeoutError:
        reply = _without_hits(asked, progress.late, f"deadline passed while {progress.doing}")
    except StreamsError as error:
        reply = _without_hits(asked, Status.NOT_READY, str(error))
    except Exception as error:
        logger.exception("a query failed")
        reply = _without_hits(asked, Status.FAILED, repr(error))
    reply = msgspec.structs.replace(reply, took_ms=1000 * (clock() - started))
    await _send(reply, asked.reply_topic, asked.reply_partition, answering)
    tier = reply.hits[0].tier if reply.hits else "none"
    metrics.answered(reply.status, tier, clock() - started)
    tracing.note(status=reply.status, tier=tier)
    if asked.text is not None:
        with contextlib.suppress(StreamsError):  # a convenience of memory-recalled, no promise
            await answering.store.questions.keep(asked.user_id, asked.request_id, asked.text)


async def refuse(raw: Raw, refusal: RefusedError, answering: Answering) -> None:
    """Reply ``invalid`` to a query that was refused, if it says who asks."""
    try:
        asked = decode(raw.value, _Address)
    except RefusedError:
        return
    reply = QueryReply(
        request_id=asked.request_id,
        user_id=asked.user_id,
        status=Status.INVALID if refusal.reason is not Reason.HANDLER else Status.FAILED,
        reason=str(refusal),
    )
    topics, partitions = answering.settings.reply_topics, range(answering.settings.partitions)
    topic = next((name for name in topics if name == asked.reply_topic), None)
    partition = next((number for number in partitions if number == asked.reply_partition), None)
    await _send(reply, topic, partition, answering)


class _Address(msgspec.Struct):
    """What an invalid query must still say to get its reply."""

    request_id: str
    user_id: str
    reply_topic: object = None
    reply_partition: object = None


class _Attempt:
    """One query on its way to a reply; says how far it came when time is up."""

    def __init__(
        self, received: Received[QueryAsked], question: Query, answering: Answering
    ) -> None:
        self._received, self._question, self._with = received, question, answering
        self.doing = "waiting for its turn"
        self.late = Status.NOT_READY
        self._timings: dict[str, float] = {}

    async def reply(self) -> QueryReply:
        """Return the reply, which may be ``partial``."""
        asked, loop = self._received.event, asyncio.get_running_loop()
        await self._fresh_enough()
        self.doing = "loading the user"
        loaded_from = loop.time()
        hot = await self._with.users.get(asked.user_id)
        self._timings["load_ms"] = 1000 * (loop.time() - loaded_from)
        self.doing, self.late = "searching", Status.FAILED
        searched_from = loop.time()
        found = await loop.run_in_executor(self._with.pool, self._search, hot)
        answer, missing, adapter_version = found
        self._timings["search_ms"] = 1000 * (loop.time() - searched_from)
        return QueryReply(
            request_id=asked.request_id,
            user_id=asked.user_id,
            status=Status.PARTIAL if missing else Status.OK,
            hits=[_wire(hit) for hit in answer.hits],
            confidence=answer.confidence,
            abstained=answer.abstained,
            generation=str(self._with.encoder.space),
            adapter_version=adapter_version,
            missing=missing,
            timings=self._timings if asked.explain else None,
        )

    async def _fresh_enough(self) -> None:
        """Wait until the event that the query must see has been applied."""
        after = self._received.event.after
        if after is not None:
            self.doing = f"waiting for {after.topic}[{after.partition}]@{after.offset}"
            place = Partition(after.topic, after.partition)
            if not await self._with.progress.reached(place, after.offset):
                raise StreamsError(f"{place} belongs to another worker")

    def _search(self, hot: HotUser) -> tuple[Answer, list[str], int]:
        """CPU work, off the event loop: encode the question, search, fuse."""
        question, missing = self._question, list[str]()
        if question.vector is None and question.text is not None:
            try:
                vector = self._with.encoder.encode([question.text])[0]
                question = dataclasses.replace(question, vector=vector)
            except EncoderError:
                logger.exception("a question could not be encoded: keywords answer alone")
                missing = ["dense"]
        with hot.lock:
            adapter = hot.adapter
            answer = retrieve(hot.state, question, adapter=adapter)
        return answer, missing, adapter.version if adapter else 0


def _wire(hit: Hit) -> WireHit:
    return WireHit(
        memory_id=hit.memory_id,
        text=hit.text,
        score=hit.score,
        tier=hit.tier,
        parts=dict(hit.parts),
    )


def _without_hits(asked: QueryAsked, status: Status, reason: str) -> QueryReply:
    return QueryReply(
        request_id=asked.request_id, user_id=asked.user_id, status=status, reason=reason
    )


async def _send(
    reply: QueryReply, topic: str | None, partition: int | None, answering: Answering
) -> None:
    """Produce the reply; one that is too large for the broker goes with half its hits.

    Nobody waits for a reply that the broker does not take in ``LONGEST_SEND`` seconds, and
    it must not keep the answers to others back.
    """
    try:
        async with asyncio.timeout(LONGEST_SEND):
            await answering.outbox.send(
                topic or answering.topics.query_reply,
                key=key_of(reply.user_id),
                value=encode(reply),
                partition=partition,
            )
    except TimeoutError:
        logger.error("a reply was given up: the broker did not take it in %g s", LONGEST_SEND)
    except MessageSizeTooLargeError:
        half = reply.hits[: len(reply.hits) // 2]
        shorter = msgspec.structs.replace(
            reply, hits=half, status=Status.PARTIAL, missing=sorted({*reply.missing, "hits"})
        )
        await _send(shorter, topic, partition, answering)
