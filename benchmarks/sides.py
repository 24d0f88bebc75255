"""A seedmem worker and a bare one, side by side, each with topics and a client of its own."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from benchmarks.bench import Bench
from benchmarks.data import memories, subjects, vectors
from benchmarks.program import Program
from seedmem.memory import Memory, Subject
from seedmem.vectors import to_wire
from streams.client import Client
from streams.events import Event, MemoryCreated, QueryReply, Status, SubjectExtracted
from streams.settings import Settings
from streams.topics import Topics

DIM = 384
USER = "asked"
_LOADING = 60_000  # ms that the first answer may take


@dataclass(frozen=True)
class Side:
    """One worker, and how to ask it and to see which memories it has taken in."""

    program: Program
    client: Client
    counter: str
    labels: dict[str, str]

    @property
    def settings(self) -> Settings:
        return self.program.settings

    @property
    def topic(self) -> str:
        """Where its memories come from."""
        return Topics(self.settings.namespace).memory_created

    @property
    def taken_in(self) -> float:
        """Memories so far."""
        return self.program.metric(self.counter, **self.labels)

    @property
    def cpu(self) -> float:
        """Seconds that the worker has computed, all threads together."""
        return self.program.metric("process_cpu_seconds_total")

    def rate_until(self, count: float, *, timeout: float) -> float:
        """Return memories per second until it has taken in ``count``."""
        return self.program.follow(self.counter, count, timeout=timeout, **self.labels)


@contextmanager
def seedmem_side(bench: Bench, encoder: str) -> Iterator[Side]:
    """Yield a seedmem worker that is ready."""
    settings = bench.settings(encoder=encoder)
    labels = {"topic": Topics(settings.namespace).memory_created, "outcome": "applied"}
    with _running(bench.seedmem(settings)) as program, Client(settings) as client:
        yield Side(program, client, "seedmem_events_total", labels)


@contextmanager
def bare_side(bench: Bench) -> Iterator[Side]:
    """Yield a bare worker that is ready."""
    settings = bench.settings()
    with _running(bench.bare(settings)) as program, Client(settings) as client:
        yield Side(program, client, "bare_events_total", {})


@contextmanager
def both_sides(bench: Bench) -> Iterator[tuple[Side, Side]]:
    """Yield a seedmem worker that is given vectors, and a bare one."""
    with ExitStack() as exit_:
        seedmem = exit_.enter_context(seedmem_side(bench, f"given:{DIM}"))
        yield seedmem, exit_.enter_context(bare_side(bench))


def remember(client: Client, bench: Bench) -> None:
    """Have ``USER`` hot, with memories and subjects."""
    known = memories(bench.talk, vectors(bench.sizes.memories, DIM))
    about = subjects(bench.sizes.subjects, DIM, known)
    places = client.send_all([*map(_created, known), *map(_extracted, about)])
    for place in (places[len(known) - 1], places[-1]):
        checked(client.ask(USER, vector=known[0].vector, after=place, deadline_ms=_LOADING))


def checked(reply: QueryReply) -> QueryReply:
    """Return ``reply``.

    Raises:
        RuntimeError: it is not a whole answer, so its time would say nothing.
    """
    if reply.status is not Status.OK:
        raise RuntimeError(f"the worker replied {reply.status}: {reply.reason}")
    return reply


@contextmanager
def _running(program: Program) -> Iterator[Program]:
    program.start()
    try:
        yield program
    finally:
        program.stop()


def _created(memory: Memory) -> Event:
    return MemoryCreated(
        user_id=USER,
        memory_id=memory.memory_id,
        text=memory.text,
        created_at=memory.created_at,
        session_id=memory.session_id,
        vector=to_wire(memory.vector),
    )


def _extracted(subject: Subject) -> Event:
    return SubjectExtracted(
        user_id=USER,
        subject_id=subject.subject_id,
        name=subject.name,
        memory_ids=list(subject.memory_ids),
        vector=to_wire(subject.vector),
    )
