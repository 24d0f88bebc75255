"""Over Kafka: users who teach the service, and what its adapters then do to its answers.

Each round streams more pairs, waits until the agents have decided what becomes of them, and asks
the questions that were held out.
"""

import asyncio
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial

import msgspec

from benchmarks.bench import Bench
from benchmarks.people import Person, people
from benchmarks.pupils import SCORES, Pupil, Rankings, pupil
from benchmarks.report import Result
from benchmarks.sides import checked
from benchmarks.simulated import ADAPTED, Found, results
from seedmem.encode import Encoder, load_encoder
from seedmem.evaluate.methods import FULL
from seedmem.evaluate.metrics import judge
from streams.adapters import serving_adapter
from streams.client import Client
from streams.errors import TransientError
from streams.events import AdapterRetrain, Event, MemoryCreated, MemoryRecalled, SubjectExtracted
from streams.store import RecordStore, Supervision, connect
from streams.supervision import Verdict, noted

ENCODER = "minilm"
_RETRAINING = 2  # workers
_LOADING = 600_000  # ms until what was streamed must be searchable
_DEADLINE = 30_000  # ms of one question
_KEPT = 60.0  # seconds until pairs must be durable, and a promoted adapter must serve
_DECIDED = 300.0  # seconds for each user until a round's retrainings must be decided
_LOOK = 0.2  # seconds between two looks


def measure(bench: Bench, *, encoder: str = ENCODER) -> list[Result]:
    """Return how held-out questions are answered after each round; nothing without questions."""
    file = bench.talk.file
    found = [] if file is None else people(file, bench.sizes.simulated_users)
    if not found:
        bench.progress("simulation: skipped, it needs conversations with questions (--data FILE)")
        return []
    with _service(bench, encoder) as client:
        bench.progress(f"simulation: the memories and subjects of {len(found)} users")
        _remember(client, found)
        rounds = asyncio.run(_rounds(bench, client, load_encoder(encoder), found))
    return results(rounds)


@contextmanager
def _service(bench: Bench, encoder: str) -> Iterator[Client]:
    """Yield a client of a worker that serves and one that retrains."""
    settings = bench.settings(encoder=encoder)
    with ExitStack() as exit_:
        for role in ("serve", *("retrain",) * _RETRAINING):
            program = bench.seedmem(msgspec.structs.replace(settings, role=role))
            exit_.callback(program.stop)
            program.start()
        yield exit_.enter_context(Client(settings))


def _remember(client: Client, found: Sequence[Person]) -> None:
    """Have everything searchable."""
    last = []
    for person in found:
        for events in (_created(person), _extracted(person)):
            last += [(person.user_id, place) for place in client.send_all(events)[-1:]]
    for user_id, place in last:
        checked(client.ask(user_id, "ready?", after=place, deadline_ms=_LOADING))


def _created(person: Person) -> list[Event]:
    return [
        MemoryCreated(
            user_id=person.user_id,
            memory_id=item.id,
            text=item.text,
            created_at=item.created_at,
            session_id=item.session,
            role=item.speaker,
        )
        for item in person.memories
    ]


def _extracted(person: Person) -> list[Event]:
    return [
        SubjectExtracted(
            user_id=person.user_id,
            subject_id=item.id,
            name=item.name,
            memory_ids=list(item.memory_ids),
        )
        for item in person.subjects
    ]


async def _rounds(
    bench: Bench, client: Client, encoder: Encoder, found: Sequence[Person]
) -> list[list[Found]]:
    """Return what each user was answered: before any pair, and after each round."""
    async with _store(client, encoder) as store:
        pupils = [await pupil(store, encoder, person) for person in found]
        rounds, taught = list[list[Found]](), 0
        for pairs in (0, *bench.sizes.simulated_rounds):
            bench.progress(f"simulation: {pairs} pairs of each user")
            _teach(client, found, taught, pairs)
            kept = {person.user_id: len(person.lessons[:pairs]) for person in found}
            if pairs:
                await _decided(client, store, kept)
            rounds.append([await _asked(client, store, p, kept[p.person.user_id]) for p in pupils])
            taught = pairs
        return rounds


@asynccontextmanager
async def _store(client: Client, encoder: Encoder) -> AsyncIterator[RecordStore]:
    store = await connect(client.settings, str(encoder.space))
    try:
        yield store
    finally:
        await store.close()


def _teach(client: Client, found: Sequence[Person], since: int, until: int) -> None:
    client.send_all(
        MemoryRecalled(user_id=person.user_id, memory_id=lesson.memory_id, query=lesson.question)
        for person in found
        for lesson in person.lessons[since:until]
    )


async def _decided(client: Client, store: RecordStore, kept: Mapping[str, int]) -> None:
    """Return when a decision was made on all the pairs of every user.

    The schedule's request, as ``seedmem adapters retrain --due`` sends it, does nothing where
    the pairs' own request has been decided on the same pairs.
    """

    async def all_are(count: Callable[[Supervision], int]) -> bool:
        found = await store.adapters.supervision(list(kept))
        return [count(each) for each in found] == list(kept.values())

    await _until(partial(all_are, lambda each: each.pairs), _KEPT, "the pairs are not all kept")
    client.send_all(
        AdapterRetrain(user_id=user_id, request_id=f"round-{pairs}", reason="schedule")
        for user_id, pairs in kept.items()
    )
    late = "not every retraining is decided"
    await _until(partial(all_are, lambda each: noted(each).pairs), _DECIDED * len(kept), late)


async def _until(condition: Callable[[], Awaitable[bool]], seconds: float, late: str) -> None:
    """Return when ``condition`` holds. Raises ``TransientError`` after ``seconds``."""
    deadline = time.monotonic() + seconds
    while not await condition():
        if time.monotonic() > deadline:
            raise TransientError(f"{late} after {seconds:g} s")
        await asyncio.sleep(_LOOK)


async def _asked(client: Client, store: RecordStore, taught: Pupil, pairs: int) -> Found:
    """Ask over Kafka, and rank the same in process with and without the adapter that serves."""
    adapter = await serving_adapter(store.adapters, taught.user_id, taught.state.space)
    version = 0 if adapter is None else adapter.version

    async def serves() -> bool:
        reply = client.ask(taught.user_id, "ready?", deadline_ms=_DEADLINE)
        return reply.adapter_version == version

    await _until(serves, _KEPT, f"version {version} of {taught.user_id} does not serve")
    served = _served(client, taught)
    in_process = taught.rankings(FULL, adapter)
    rankings = {score: taught.rankings(score, None) for score in SCORES}
    rankings |= {ADAPTED[score]: taught.rankings(score, adapter) for score in SCORES}
    rankings[ADAPTED[FULL]] = served
    golds = [frozenset(item.gold) for item in taught.person.held_out]
    decisions = await store.adapters.decisions(taught.user_id)
    return Found(
        user_id=taught.user_id,
        pairs=pairs,
        version=version,
        verdicts=[msgspec.json.decode(raw, type=Verdict) for raw in reversed(decisions)],
        differing=sum(a != b for a, b in zip(served, in_process, strict=True)),
        values={method: judge(found, golds) for method, found in rankings.items()},
    )


def _served(client: Client, taught: Pupil) -> Rankings:
    """Return what the service finds."""
    replies = [
        client.ask(taught.user_id, query.text, k=query.k, as_of=query.as_of, deadline_ms=_DEADLINE)
        for query in taught.queries
    ]
    return [[hit.memory_id for hit in checked(reply).hits] for reply in replies]
