"""In process: one question to one user, against a matrix product and qdrant-edge."""

from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.bench import Bench
from benchmarks.data import memories, subjects, vectors
from benchmarks.peer import peer
from benchmarks.report import Cell, Result, Target
from benchmarks.states import HYBRID, K, state_of
from benchmarks.timing import Call, Timed, interleaved
from seedmem.retrieve import Query, retrieve

DIMS = (384, 768)
ALL, LEGS, PEER, PRODUCT = (
    "seedmem, all features",
    "seedmem, dense + keyword",
    "qdrant-edge, dense + keyword",
    "one numpy matrix product",
)


def measure(bench: Bench) -> list[Result]:
    """Return p50 and p99 at two dimensions."""
    sizes = bench.sizes
    found = {dim: _latencies(bench, dim) for dim in DIMS}
    rows = [row for dim, latencies in found.items() for row in _rows(dim, latencies)]
    targets = [
        Target(
            claim=f"p50 of dense + keyword, {dim} dimensions, against qdrant-edge's",
            value=latencies[LEGS].p50 / latencies[PEER].p50,
            bound=0.5,
        )
        for dim, latencies in found.items()
    ]
    note = (
        f"One user of {sizes.memories:,} memories and {sizes.subjects} subjects, k = {K}; "
        f"{bench.talk.source}, generated vectors; {sizes.rounds} rounds of "
        f"{sizes.questions} questions, none asked twice, each kind in turn. Encoding is not in it."
    )
    columns = (
        "dimensions",
        "what",
        "p50 ms",
        "p99 ms",
        "CPU ms",
        "p50 × numpy",
        "p50 × qdrant-edge",
    )
    return [
        Result(
            name="query",
            title="A question in process",
            note=note,
            columns=columns,
            rows=rows,
            targets=targets,
        )
    ]


def _latencies(bench: Bench, dim: int) -> dict[str, Timed]:
    bench.progress(f"query: {dim} dimensions")
    with _calls(bench, dim) as calls:
        return interleaved(calls, count=bench.sizes.questions, rounds=bench.sizes.rounds)


@contextmanager
def _calls(bench: Bench, dim: int) -> Iterator[dict[str, Call]]:
    sizes, talk = bench.sizes, bench.talk
    known = memories(talk, vectors(sizes.memories, dim))
    state = state_of([*known, *subjects(sizes.subjects, dim, known)], dim)
    asked = vectors(sizes.questions * (sizes.rounds + 1), dim, seed=3)

    def query(number: int) -> Query:
        return Query(text=talk.question(number), vector=asked[number], k=K)

    with peer(bench.directory / f"peer-{dim}", dim) as other:
        other.fill(known)
        yield {
            ALL: lambda n: retrieve(state, query(n)),
            LEGS: lambda n: retrieve(state, query(n), weights=HYBRID),
            PEER: lambda n: other.hybrid(talk.question(n), asked[n], K),
            PRODUCT: lambda n: state.vectors @ asked[n],
        }


def _rows(dim: int, latencies: dict[str, Timed]) -> list[list[Cell]]:
    numpy, peer_ = latencies[PRODUCT].p50, latencies[PEER].p50
    return [
        [str(dim), name, each.p50, each.p99, each.cpu, each.p50 / numpy, each.p50 / peer_]
        for name, each in latencies.items()
    ]
