"""adapter-retrain → adapter-promoted: fit, judge, decide durably, and tell the owner."""

import logging
import os
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import faust
import msgspec

from seedmem.adapt import Adapter, to_bytes
from seedmem.encode import Encoder
from seedmem.errors import EncoderUnavailableError
from seedmem.learn.pairs import Outcome, Pair
from seedmem.user import UserState
from seedmem.vectors import Vector
from streams import metrics, records
from streams.adapters import serving_adapter
from streams.delivery import Delivery, Stream
from streams.embedding import Embedder
from streams.errors import DamagedRecordError, PermanentError, TransientError
from streams.events import AdapterPromoted, AdapterRetrain
from streams.faustapp import raw_topic
from streams.intake import Received
from streams.learning import Learned, Study, learn
from streams.loader import Loader
from streams.outbox import Outbox
from streams.refusal import RefusedError
from streams.settings import Settings
from streams.store import SEQUENCE, RecordStore, Settlement, Standing, Supervision, parse
from streams.supervision import Decided, Noted, Verdict, has_news
from streams.topics import Topics
from streams.wire import encode, key_of

logger = logging.getLogger(__name__)

NICENESS = 10  # of the thread that fits: whoever serves on the same machine goes first


@dataclass(frozen=True, kw_only=True)
class Retraining:
    """What a retraining depends on, and its steps."""

    topics: Topics
    settings: Settings
    encoder: Encoder
    store: RecordStore
    outbox: Outbox
    embedder: Embedder = field(init=False)

    def __post_init__(self) -> None:
        pool = ThreadPoolExecutor(
            1, thread_name_prefix="retraining", initializer=os.nice, initargs=(NICENESS,)
        )
        object.__setattr__(self, "embedder", Embedder(self.encoder, pool))

    async def retrain(self, asked: AdapterRetrain) -> None:
        """See one request through; a request that was decided already is only announced again.

        Raises:
            TransientError: another decision came first, or a dependency is away: begin anew.
        """
        user_id, adapters = asked.user_id, self.store.adapters
        since = await adapters.standing(user_id)
        if not since.is_known:  # erased, or never there
            return
        [supervision] = await adapters.supervision([user_id])
        verdict: Decided | None = await self._decided(asked)
        if verdict is None and (asked.reason == "asked" or has_news(supervision)):
            verdict = await self._decide(asked, since, supervision)
        if verdict is not None and verdict.shipped:
            await self._announce(user_id, verdict.version)

    async def _decided(self, asked: AdapterRetrain) -> Decided | None:
        """Return what was decided on this very request before."""
        for raw in await self.store.adapters.decisions(asked.user_id):
            verdict = msgspec.json.decode(raw, type=Decided)
            if verdict.request_id == asked.request_id:
                return verdict
        return None

    async def _decide(
        self, asked: AdapterRetrain, since: Standing, supervision: Supervision
    ) -> Verdict:
        """Fit, judge, and make the decision durable."""
        began = time.monotonic()
        study = await self._study(asked.user_id, since)
        learned = await self._learn(study)
        verdict = _verdict(asked, study, learned, supervision, time.monotonic() - began)
        settlement = Settlement(
            version=verdict.version,
            decision=msgspec.json.encode(verdict),
            adapter=_shipped(learned, asked.user_id),
            seen=learned.seen,
            decided=msgspec.msgpack.encode(
                Noted(verdict.at, supervision.pairs, supervision.writes)
            ),
        )
        if not await self.store.adapters.settle(asked.user_id, since, settlement):
            raise TransientError("another decision, or an erasure, came first")
        rule = None if learned.gate is None else learned.gate.rule
        metrics.retrained(learned.outcome, rule, verdict.took)
        logger.info("adapter %d → %d: %s", verdict.before, verdict.version, verdict.reason)
        return verdict

    async def _study(self, user_id: str, since: Standing) -> Study:
        """Read all that there is to go by."""
        adapters, space = self.store.adapters, self.encoder.space
        current = await serving_adapter(adapters, user_id, space) or Adapter.identity(space)
        return Study(
            state=await self._state(user_id),
            pairs=await self._pairs(user_id),
            current=current,
            seen=await adapters.seen(user_id, current.version),
            version=since.newest + 1,
        )

    async def _state(self, user_id: str) -> UserState:
        loader = Loader(self.encoder.space)
        async for page in self.store.read(user_id):
            await self.embedder.run(loader.add, page)
        state = UserState(
            self.encoder.space, exact_limit=self.settings.exact_limit, user_id=user_id
        )
        await self.embedder.run(loader.fill, state)
        return state

    async def _pairs(self, user_id: str) -> tuple[Pair, ...]:
        kept: dict[bytes, tuple[int, records.Pair]] = {}
        async for page in self.store.pairs(user_id):
            for name, value in page.items():
                if name == SEQUENCE:
                    continue
                try:
                    stored = parse(value)
                    kept[name] = stored.sequence, records.decode_pair(stored.payload)
                except DamagedRecordError as error:
                    logger.error("a stored pair is left out: %s", error)
        queries = list(dict.fromkeys(pair.query for _, pair in kept.values()))
        vectors = dict(zip(queries, await self._vectors(queries), strict=True))
        return tuple(
            Pair(
                memory_id=pair.memory_id,
                vector=vectors[pair.query],
                text=pair.query,
                outcome=Outcome(pair.outcome),
                at=sequence,
            )
            for sequence, pair in kept.values()
        )

    async def _vectors(self, queries: Sequence[str]) -> Sequence[Vector]:
        """Return each query's vector; ``NO_VECTOR`` for one that cannot be encoded."""
        try:
            return list(await self.embedder.encode(queries))
        except RefusedError:
            if len(queries) == 1:
                return [records.NO_VECTOR]
        half = len(queries) // 2
        return [*await self._vectors(queries[:half]), *await self._vectors(queries[half:])]

    async def _learn(self, study: Study) -> Learned:
        try:
            return await self.embedder.run(learn, study, self.encoder.encode, self.settings)
        except EncoderUnavailableError as error:
            kind = PermanentError if error.retry_after is None else TransientError
            raise kind(str(error)) from error

    async def _announce(self, user_id: str, version: int) -> None:
        promoted = AdapterPromoted(
            user_id=user_id, version=version, generation=self.store.generation
        )
        topic = self.topics.adapter_promoted
        await self.outbox.send(topic, key=key_of(user_id), value=encode(promoted))


def register(app: faust.App, delivery: Delivery, retraining: Retraining) -> None:
    """Add the agent to ``app``."""

    async def retrain(requests: Sequence[Received[AdapterRetrain]]) -> None:
        for received in requests:
            await retraining.retrain(received.event)

    topic = raw_topic(app, retraining.topics.adapter_retrain)

    @app.agent(topic, name="retrain_adapters", concurrency=1)
    async def retrain_adapters(stream: Stream) -> None:
        """Decide on each request durably, tell the owner, then ack; one job at a time."""
        await delivery.in_batches(
            stream,
            lambda received: received,
            retrain,
            kind=AdapterRetrain,
            size=1,
            within=retraining.settings.batch_wait,
        )


def _verdict(
    asked: AdapterRetrain, study: Study, learned: Learned, supervision: Supervision, took: float
) -> Verdict:
    return Verdict(
        request_id=asked.request_id,
        cause=asked.reason,
        at=time.time(),
        shipped=learned.ships,
        reason=learned.reason,
        before=study.current.version,
        version=study.version if learned.ships else study.current.version,
        lesson=learned.lesson,
        memories=study.state.size,
        pairs=supervision.pairs,
        questions=learned.questions,
        dropped=learned.dropped,
        took=took,
        gate=learned.gate,
    )


def _shipped(learned: Learned, user_id: str) -> bytes:
    """Return the stored form of what ships; empty if nothing does."""
    if learned.candidate is None or not learned.ships:
        return b""
    return to_bytes(learned.candidate, user_id=user_id)
