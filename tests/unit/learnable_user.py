"""A small user whose questions can be learned from: all miss their memory in the same way."""

import numpy as np

from seedmem.learn.examples import Corpus, Examples
from seedmem.vectors import Matrix, VectorSpace, unit_rows

DIM = 16
TURNED = 10  # of the DIM components, those that a query has in another order than its memory


def corpus(memories: int = 80, *, seed: int = 0) -> Corpus:
    """Random memories; memory i is about subjects i % 10 and 10 + i % 7."""
    draw = np.random.default_rng(seed)
    rows = np.arange(memories)
    links = np.concatenate([np.c_[rows, rows % 10], np.c_[rows, 10 + rows % 7]])
    return Corpus(
        space=VectorSpace("hash", DIM),
        memory_ids=tuple(f"m{row}" for row in rows),
        memories=unit_rows(draw.normal(size=(memories, DIM))),
        subjects=unit_rows(draw.normal(size=(17, DIM))),
        links=links.astype(np.int64),
    )


def asked(memories: Matrix) -> Matrix:
    """The query of each of ``memories``, (n, d): its first components shifted by one, and noise."""
    draw = np.random.default_rng(1)
    shifted = np.concatenate(
        [np.roll(memories[:, :TURNED], 1, axis=1), memories[:, TURNED:]], axis=1
    )
    return unit_rows(shifted + 0.02 * draw.normal(size=memories.shape))


def examples(of: Corpus, questions: int = 60) -> Examples:
    """Question i is answered by memory i."""
    return Examples(
        queries=asked(of.memories)[:questions],
        golds=tuple((row,) for row in range(questions)),
    )
