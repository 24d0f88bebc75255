"""A fit of a query adapter: seconds, and bytes that the process has at its peak."""

import multiprocessing
import resource
from concurrent.futures import ProcessPoolExecutor
from typing import TYPE_CHECKING

from benchmarks.bench import Bench
from benchmarks.data import memories, subjects, vectors
from benchmarks.report import Cell, Result, Target
from benchmarks.timing import took
from seedmem.adapt import Adapter, to_bytes
from seedmem.user import UserState
from seedmem.vectors import VectorSpace, unit_rows

if TYPE_CHECKING:
    from seedmem.learn.config import FitConfig
    from seedmem.learn.examples import Corpus, Examples

DIMS = (384, 768)
PAIRS = (100, 2_000)
BOUND = 60.0  # seconds that 2,000 pairs of the larger dimension may take on one thread
_MOVED = 0.6  # length of what a question adds to its memory's vector


def measure(bench: Bench) -> list[Result]:
    """Return what fits of several sizes take, each in a process of its own."""
    from seedmem.learn.config import LABEL_FREE, FitConfig

    kinds = {"own questions": FitConfig(), "pseudo-queries": LABEL_FREE}
    rows: list[list[Cell]] = []
    for dim in DIMS:
        for pairs in PAIRS:
            asked = min(pairs, bench.sizes.memories)
            for kind, config in kinds.items():
                bench.progress(f"fit: {asked} {kind} of {dim} dimensions")
                rows.append([kind, float(dim), float(asked), *_apart(bench, dim, asked, config)])
    slowest = max(float(row[3]) for row in rows)
    note = f"{bench.sizes.memories:,} memories, one thread. The adapter's own size is as stored."
    return [
        Result(
            name="fit",
            title="Fitting a query adapter",
            note=note,
            columns=("fitted to", "dimensions", "pairs", "seconds", "peak MB", "of it fit", "KB"),
            rows=rows,
            targets=[Target(claim="seconds of the slowest fit", value=slowest, bound=BOUND)],
        )
    ]


def _apart(bench: Bench, dim: int, pairs: int, config: "FitConfig") -> tuple[float, ...]:
    corpus, examples = _user(bench, dim, pairs)
    context = multiprocessing.get_context("spawn")  # torch is never forked
    with ProcessPoolExecutor(1, mp_context=context) as process:
        return process.submit(_fitted, corpus, examples, config).result()


def _user(bench: Bench, dim: int, pairs: int) -> "tuple[Corpus, Examples]":
    """Return a user whose questions lie beside their memories, all to one side."""
    from seedmem.learn.examples import Examples
    from seedmem.learn.served import corpus_of

    state = UserState(VectorSpace("given", dim))
    known = memories(bench.talk, vectors(bench.sizes.memories, dim))
    about = subjects(bench.sizes.subjects, dim, known)
    state.load((record, None) for record in [*known, *about])
    corpus = corpus_of(state)
    aside = _MOVED * (vectors(1, dim, seed=5) + vectors(pairs, dim, seed=6))
    queries = unit_rows(corpus.memories[:pairs] + aside)
    return corpus, Examples(queries=queries, golds=tuple((row,) for row in range(pairs)))


def _fitted(corpus: "Corpus", examples: "Examples", config: "FitConfig") -> tuple[float, ...]:
    """Return seconds, peak MB of the process, MB that the fit added to it, KB of the adapter."""
    from seedmem.learn.fit import fit

    before = _peak()
    adapters: list[Adapter] = []

    def run() -> None:
        adapters.append(fit(examples, corpus, version=1, config=config).adapter)

    seconds = took(run)
    stored = len(to_bytes(adapters[0], user_id="ada"))
    return seconds, _peak(), _peak() - before, stored / 1000


def _peak() -> float:
    """Return the most megabytes that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000  # Linux counts in KB
