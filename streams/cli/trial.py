"""What the demo does: remember a life, wait, ask, count what is found, and learn from it."""

import asyncio
import time
from collections.abc import Sequence
from importlib.resources import files

import msgspec
import numpy as np

from seedmem.encode import Encoder, load_encoder
from seedmem.evaluate.datasets import MemoryItem, QueryItem, parse_lines
from seedmem.text import hash_terms, terms
from seedmem.user import UserState
from streams import standings
from streams.archive import end_of
from streams.cli.output import tracked
from streams.client import Client
from streams.errors import StreamsError, TransientError
from streams.events import After, MemoryCreated, MemoryRecalled, Status
from streams.loader import Loader
from streams.store import EXTRACTED, connect, field
from streams.supervision import Verdict
from streams.topics import Topics

USER = "demo"
K = 10  # hits of a question; MRR counts no rank behind it

_PATIENCE = 120.0  # seconds until everything sent must be searchable
_LOOK = 0.2  # seconds between two looks
_FIT = 600.0  # seconds until a retraining must have been decided
_LAMBDA, _NEAREST = 0.4, 40  # of subject fusion, as published

Ranking = list[str]
"""Memory ids, best first."""


class Life(msgspec.Struct, frozen=True):
    """The demo's data: one person's memories, and questions with their answers."""

    memories: tuple[MemoryItem, ...]
    questions: tuple[QueryItem, ...]

    @classmethod
    def bundled(cls) -> "Life":
        """Return the life that the package brings."""
        lines = (files("streams.cli") / "life.jsonl").read_bytes().splitlines()
        items = list(parse_lines(lines))
        return cls(
            tuple(item for item in items if isinstance(item, MemoryItem)),
            tuple(item for item in items if isinstance(item, QueryItem)),
        )


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """How well one method found the answers: any gold memory counts."""

    method: str
    recall_1: float = msgspec.field(name="recall@1")
    recall_5: float = msgspec.field(name="recall@5")
    recall_10: float = msgspec.field(name="recall@10")
    mrr: float = msgspec.field(name="mrr@10")


def remember(client: Client, life: Life) -> After:
    """Stream the memories and return the place of the last one."""
    events = [
        MemoryCreated(
            user_id=item.user_id,
            memory_id=item.id,
            text=item.text,
            created_at=item.created_at,
            session_id=item.session,
            role=item.speaker,
        )
        for item in tracked(life.memories, label="memories")
    ]
    return client.send_all(events)[-1]


def settle(client: Client, life: Life, last: After) -> None:
    """Return when the memories up to ``last`` and their subjects are searchable.

    Raises:
        TransientError: they are not within 120 s.
    """
    settings = client.settings
    asyncio.run(_until_extracted(client, [memory.id for memory in life.memories]))
    topic = Topics(settings.namespace).subject_extracted
    end = end_of(settings, topic, last.partition)
    subjects = After(topic=topic, partition=last.partition, offset=end - 1)
    for place in (last, subjects) if end else (last,):
        answer = client.ask(USER, "ready?", after=place, deadline_ms=int(_PATIENCE * 1_000))
        if answer.status is not Status.OK:
            raise TransientError(f"not searchable after {_PATIENCE:g} s: {answer.status}")


def served(client: Client, life: Life) -> list[Ranking]:
    """Return what the service finds for each question, asked over Kafka."""
    rankings = []
    for question in tracked(life.questions, label="questions"):
        answer = client.ask(USER, question.text, k=K)
        if answer.status is not Status.OK:
            raise StreamsError(f"question {question.id} got {answer.status}: {answer.reason}")
        rankings.append([hit.memory_id for hit in answer.hits])
    return rankings


def by_leg(client: Client, life: Life) -> dict[str, list[Ranking]]:
    """Return what each leg alone finds in the state that the service has stored."""
    encoder = load_encoder(client.settings.encoder)
    state = asyncio.run(_state(client, encoder))
    texts = [question.text for question in life.questions]
    legs: dict[str, list[Ranking]] = {"dense": [], "keyword": [], "subject fusion": []}
    for text, vector in zip(texts, encoder.encode(texts), strict=True):
        dense = state.vectors @ vector  # (rows,)
        keyword = state.keyword.scores(hash_terms(terms(text)))
        fusion = dense + _LAMBDA * state.best_subject_scores(vector, _NEAREST)
        for name, scores in zip(legs, (dense, keyword, fusion), strict=True):
            legs[name].append(_best(state, scores))
    return legs


def learned(client: Client, life: Life) -> Verdict:
    """Tell the service what each question meant; return what it decided about an adapter.

    When an adapter shipped, it serves on return.

    Raises:
        TransientError: nothing was decided within 600 s.
    """
    client.send_all(
        MemoryRecalled(user_id=USER, memory_id=question.gold[0], query=question.text)
        for question in life.questions
    )
    verdict = asyncio.run(_decision(client))
    deadline = time.monotonic() + _PATIENCE
    while client.ask(USER, life.questions[0].text).adapter_version != verdict.version:
        if time.monotonic() > deadline:
            raise TransientError(f"version {verdict.version} does not serve after {_PATIENCE:g} s")
        time.sleep(_LOOK)
    return verdict


def score(method: str, rankings: Sequence[Ranking], life: Life) -> Score:
    """Return Recall@1/5/10 and MRR@10 of ``rankings``, one for each question."""
    ranks = np.array(
        [
            next((rank for rank, id in enumerate(ranking[:K], 1) if id in question.gold), np.inf)
            for ranking, question in zip(rankings, life.questions, strict=True)
        ]
    )
    recall = {f"recall_{k}": float((ranks <= k).mean()) for k in (1, 5, 10)}
    return Score(method=method, mrr=float((1 / ranks).mean()), **recall)


def _best(state: UserState, scores: "np.typing.NDArray[np.float32]") -> Ranking:
    """Return the K best live memories with a score above 0, the later one first among equals."""
    order = np.lexsort((-state.born, -scores))
    found = order[state.live[order] & (scores[order] > 0)]
    return [state.memory(int(row)).memory_id for row in found[:K]]


async def _until_extracted(client: Client, memory_ids: Sequence[str]) -> None:
    store = await connect(client.settings, generation="")
    deadline = time.monotonic() + _PATIENCE
    try:
        while None in await store.get_many(USER, [field(EXTRACTED, id) for id in memory_ids]):
            if time.monotonic() > deadline:
                raise TransientError(f"subjects were not extracted within {_PATIENCE:g} s")
            await asyncio.sleep(_LOOK)
    finally:
        await store.close()


async def _decision(client: Client) -> Verdict:
    store = await connect(client.settings, generation="")
    deadline = time.monotonic() + _FIT
    try:
        while not (found := await standings.of(store, USER)) or not found[0].decisions:
            if time.monotonic() > deadline:
                raise TransientError(f"no retraining was decided within {_FIT:g} s")
            await asyncio.sleep(_LOOK)
        return found[0].decisions[0]
    finally:
        await store.close()


async def _state(client: Client, encoder: Encoder) -> UserState:
    """Return the user's state, loaded as a worker loads it."""
    store = await connect(client.settings, str(encoder.space))
    loader = Loader(encoder.space)
    try:
        async for page in store.read(USER):
            loader.add(page)
    finally:
        await store.close()
    state = UserState(encoder.space)
    loader.fill(state)
    return state
