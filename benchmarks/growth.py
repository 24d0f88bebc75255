"""In process: from a hundred memories to fifty thousand, exact and by graph, and what it misses.

This is what the setting ``exact_limit`` is read off.
"""

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.bench import Bench
from benchmarks.data import memories, vectors
from benchmarks.peer import Peer, peer
from benchmarks.report import Cell, Curves, Result
from benchmarks.states import NEVER, K
from benchmarks.timing import Timed, interleaved, timed
from seedmem.memory import Memory
from seedmem.retrieve import Query, retrieve
from seedmem.user import UserState
from seedmem.vectors import Matrix, VectorSpace

SPACE = VectorSpace("given", 384)
ROUNDS = 3
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
    "graph s",
)
_LINES = (1, 2, 3, 5, 6, 8)  # columns that are drawn


class _Users:
    """One user who grows, kept three times: searched exactly, by a graph, and by the peer."""

    def __init__(self, other: Peer) -> None:
        self.exact = UserState(SPACE, exact_limit=NEVER)
        self.graph = UserState(SPACE, exact_limit=0)
        self.other = other
        self.graph_seconds = 0.0
        """CPU seconds until the graph was as large as it is."""

    def grow(self, more: Sequence[Memory]) -> None:
        """Take in ``more`` memories."""
        self.exact.load((memory, None) for memory in more)
        self.graph_seconds += timed(self._grow_graph, more)[1]
        self.other.fill(more)

    def _grow_graph(self, more: Sequence[Memory]) -> None:
        self.graph.load((memory, None) for memory in more)
        if self.graph.dense.needs_graph:
            build = self.graph.dense.plan_build()
            build.run()
            self.graph.dense.adopt(build)


def measure(bench: Bench) -> list[Result]:
    """Return CPU times by number of memories."""
    rows = list(_rows(bench))
    note = (
        f"CPU ms (p50) of one user's questions, {SPACE.dim} dimensions, k = {K}, no subjects; "
        f"{bench.talk.source}, repeated where they do not suffice; generated vectors of 48 true "
        f"dimensions and noise; {ROUNDS} rounds of {bench.sizes.growth_questions} questions, each "
        "kind in turn. `vectors` is the dense search alone, `question` all features; recall@10 and "
        "same hits (the share of ten) compare hnsw with exact. The user grows: `graph s` are the "
        "CPU seconds that bring all of its memories into a graph."
    )
    lines = {COLUMNS[at]: [float(row[at]) for row in rows] for at in _LINES}
    curves = Curves(x_label="memories of one user", y_label="CPU ms, p50", x=bench.sizes.growth,
                    lines=lines)  # fmt: skip
    return [
        Result(
            name="growth",
            title="A question in process, by number of memories",
            note=note,
            columns=COLUMNS,
            rows=rows,
            curves=[curves],
        )
    ]


def _rows(bench: Bench) -> Iterator[list[Cell]]:
    known = memories(bench.talk, vectors(max(bench.sizes.growth), SPACE.dim))
    asked = vectors(bench.sizes.growth_questions * (ROUNDS + 1), SPACE.dim, seed=3)
    with peer(bench.directory / "growth", SPACE.dim) as other:
        users, grown = _Users(other), 0
        for size in bench.sizes.growth:
            bench.progress(f"growth: {size:,} memories")
            users.grow(known[grown:size])
            grown = size
            yield _row(bench, users, asked)


def _row(bench: Bench, users: _Users, asked: Matrix) -> list[Cell]:
    cpu = {name: latency.cpu for name, latency in _latencies(bench, users, asked).items()}
    sample = range(bench.sizes.growth_questions)
    recall = np.mean([_same(users, asked[number]) for number in sample])
    hits = np.mean([_same_hits(users, _query(bench, asked, number)) for number in sample])
    return [
        f"{users.exact.size:,}",
        *(cpu["numpy"], cpu["dense exact"], cpu["dense hnsw"], float(recall)),
        *(cpu["exact"], cpu["hnsw"], float(hits), cpu["peer"], users.graph_seconds),
    ]


def _latencies(bench: Bench, users: _Users, asked: Matrix) -> dict[str, Timed]:
    matrix, exact, graph = users.exact.vectors, users.exact, users.graph
    calls = {
        "numpy": lambda n: matrix @ asked[n],
        "dense exact": lambda n: exact.dense.search(asked[n], K),
        "dense hnsw": lambda n: graph.dense.search(asked[n], K),
        "exact": lambda n: retrieve(exact, _query(bench, asked, n)),
        "hnsw": lambda n: retrieve(graph, _query(bench, asked, n)),
        "peer": lambda n: users.other.hybrid(bench.talk.question(n), asked[n], K),
    }
    return interleaved(calls, count=bench.sizes.growth_questions, rounds=ROUNDS)


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
