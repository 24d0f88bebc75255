"""In process: from a hundred memories to fifty thousand, exact and by graph, and what it misses.

This is what the setting ``exact_limit`` is read off.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.bench import Bench
from benchmarks.data import memories, vectors
from benchmarks.peer import peer
from benchmarks.report import Cell, Curves, Result
from benchmarks.states import K, state_of
from benchmarks.timing import Timed, interleaved, took
from seedmem.memory import Memory
from seedmem.retrieve import Query, retrieve
from seedmem.user import UserState
from seedmem.vectors import Matrix

DIM = 384
COLUMNS = (
    "memories",
    "numpy product",
    "vectors exact",
    "vectors hnsw",
    "recall@10",
    "question exact",
    "question hnsw",
    "same hits",
    "qdrant-edge hybrid",
    "graph build s",
)
_LINES = (1, 2, 3, 5, 6, 8)  # columns that are drawn


@dataclass(frozen=True)
class _Users:
    """The same memories, searched in two ways."""

    exact: UserState
    graph: UserState
    build_seconds: float


def measure(bench: Bench) -> list[Result]:
    """Return p50 by number of memories."""
    rows = [_row(bench, size) for size in bench.sizes.growth]
    note = (
        f"p50 in ms of one user's questions, {DIM} dimensions, k = {K}, no subjects; "
        f"{bench.talk.source}, repeated where they do not suffice; generated vectors of 48 true "
        "dimensions and noise. `vectors` is the dense search alone, `question` all features; "
        "recall@10 and same hits (the share of ten) compare hnsw with exact."
    )
    lines = {COLUMNS[at]: [float(row[at]) for row in rows] for at in _LINES}
    curves = Curves(x_label="memories of one user", y_label="p50, ms", x=bench.sizes.growth,
                    lines=lines)  # fmt: skip
    return [
        Result(
            name="growth",
            title="A question in process, by number of memories",
            note=note,
            columns=COLUMNS,
            rows=rows,
            curves=curves,
        )
    ]


def _row(bench: Bench, size: int) -> list[Cell]:
    bench.progress(f"growth: {size:,} memories")
    sizes = bench.sizes
    known = memories(bench.talk, vectors(size, DIM))
    users = _users(known)
    asked = vectors(sizes.questions * (sizes.rounds + 1), DIM, seed=3)
    latencies = _latencies(bench, known, users, asked)
    sample = range(sizes.questions)
    recall = np.mean([_same(users, asked[number]) for number in sample])
    hits = np.mean([_same_hits(users, _query(bench, asked, number)) for number in sample])
    p50 = {name: latency.p50 for name, latency in latencies.items()}
    return [
        f"{size:,}",
        *(p50["numpy"], p50["dense exact"], p50["dense hnsw"], float(recall)),
        *(p50["exact"], p50["hnsw"], float(hits), p50["peer"], users.build_seconds),
    ]


def _users(known: list[Memory]) -> _Users:
    found: list[UserState] = []
    exact = state_of(known, DIM)
    seconds = took(lambda: found.append(state_of(known, DIM, exact_limit=0)))
    return _Users(exact, found[0], seconds)


def _latencies(bench: Bench, known: list[Memory], users: _Users, asked: Matrix) -> dict[str, Timed]:
    matrix = users.exact.vectors
    with peer(bench.directory / f"growth-{len(known)}", DIM) as other:
        other.fill(known)
        calls = {
            "numpy": lambda n: matrix @ asked[n],
            "dense exact": lambda n: users.exact.dense.search(asked[n], K),
            "dense hnsw": lambda n: users.graph.dense.search(asked[n], K),
            "exact": lambda n: retrieve(users.exact, _query(bench, asked, n)),
            "hnsw": lambda n: retrieve(users.graph, _query(bench, asked, n)),
            "peer": lambda n: other.hybrid(bench.talk.question(n), asked[n], K),
        }
        return interleaved(calls, count=bench.sizes.questions, rounds=bench.sizes.rounds)


def _query(bench: Bench, asked: Matrix, number: int) -> Query:
    return Query(text=bench.talk.question(number), vector=asked[number], k=K)


def _same(users: _Users, vector: np.ndarray) -> float:
    """Return the share of the exact ten that the graph finds."""
    exact, graph = (set(u.dense.search(vector, K)[0].tolist()) for u in (users.exact, users.graph))
    return len(exact & graph) / max(len(exact), 1)


def _same_hits(users: _Users, query: Query) -> float:
    exact, graph = (
        {hit.memory_id for hit in retrieve(u, query).hits} for u in (users.exact, users.graph)
    )
    return len(exact & graph) / max(len(exact), 1)
