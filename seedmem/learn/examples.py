"""What a fit sees: one user's memories and subjects, and the questions they answered, as arrays."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from seedmem.errors import ShapeError
from seedmem.vectors import Matrix, VectorSpace

Rows = NDArray[np.int64]


@dataclass(frozen=True, kw_only=True)
class Corpus:
    """One user's memories and subjects when a fit begins.

    Raises:
        ShapeError: an array does not fit the space or the others.
    """

    space: VectorSpace
    memory_ids: tuple[str, ...]
    memories: Matrix
    """(m, d), unit rows."""
    subjects: Matrix
    """(s, d), unit rows; s may be 0."""
    links: Rows
    """(l, 2): row of a memory, row of a subject that it is about."""

    def __post_init__(self) -> None:
        wants = {
            "memories": (len(self.memory_ids), self.space.dim),
            "subjects": (len(self.subjects), self.space.dim),
            "links": (len(self.links), 2),
        }
        for name, want in wants.items():
            if getattr(self, name).shape != want:
                raise ShapeError(name, got=getattr(self, name).shape, want=want)

    @cached_property
    def row_of(self) -> dict[str, int]:
        """Row of each memory id."""
        return {memory_id: row for row, memory_id in enumerate(self.memory_ids)}

    @cached_property
    def subjects_of(self) -> list[Rows]:
        """Rows of the subjects of each memory."""
        return _grouped(self.links[:, 0], self.links[:, 1], len(self.memories))

    @cached_property
    def memories_of(self) -> list[Rows]:
        """Rows of the memories of each subject."""
        return _grouped(self.links[:, 1], self.links[:, 0], len(self.subjects))

    @cached_property
    def twin_of(self) -> Rows:
        """(m,): of each row, the first row with the same vector in float16."""
        stored = np.ascontiguousarray(self.memories.astype(np.float16))
        whole_rows = stored.view(np.dtype((np.void, stored.strides[0]))).ravel()
        _, first, inverse = np.unique(whole_rows, return_index=True, return_inverse=True)
        return np.asarray(first[inverse], dtype=np.int64)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examples:
    """Questions and the memories that answered them.

    Raises:
        ShapeError: the three do not have one entry a question each.
    """

    queries: Matrix
    """(n, d), unit rows: not adapted."""
    golds: tuple[tuple[int, ...], ...]
    """Rows of the memories that answered question i: one or more."""
    rejected: tuple[tuple[int, ...], ...] = ()
    """Rows that the user turned down for question i; () for the whole field means none anywhere."""

    def __post_init__(self) -> None:
        if not self.rejected:
            object.__setattr__(self, "rejected", ((),) * len(self.golds))
        for name in ("queries", "rejected"):
            if len(getattr(self, name)) != len(self.golds):
                raise ShapeError(name, got=(len(getattr(self, name)),), want=(len(self.golds),))

    def __len__(self) -> int:
        return len(self.golds)

    def take(self, chosen: Sequence[int] | Rows) -> "Examples":
        """Return the chosen questions, in that order."""
        return Examples(
            queries=self.queries[np.asarray(chosen, dtype=np.int64)],
            golds=tuple(self.golds[i] for i in chosen),
            rejected=tuple(self.rejected[i] for i in chosen),
        )


def folds(golds: Sequence[Sequence[int]], *, count: int, seed: int = 0) -> Rows:
    """Return the fold of each question, (n,) in [0, count): that of its first gold.

    All questions with one first gold stay together; the largest such group goes to the
    emptiest fold, and ``seed`` decides among equals. A fold may stay empty.
    """
    firsts, group = np.unique([rows[0] for rows in golds], return_inverse=True)
    sizes = np.bincount(group, minlength=len(firsts))
    shuffled = np.random.default_rng(seed).permutation(len(firsts))
    fold_of_group, filled = np.zeros(len(firsts), dtype=np.int64), np.zeros(count, dtype=np.int64)
    for chosen in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold_of_group[chosen] = filled.argmin()
        filled[fold_of_group[chosen]] += sizes[chosen]
    return fold_of_group[group]


def apart(golds: Sequence[Sequence[int]], fold: Rows, held_out: int) -> tuple[Rows, Rows]:
    """Return the questions to train on and those of fold ``held_out``; no memory answers in both.

    A question outside the fold that shares an answer with it is in neither.
    """
    inside = np.flatnonzero(fold == held_out)
    answers = {row for question in inside.tolist() for row in golds[question]}
    others: list[int] = np.flatnonzero(fold != held_out).tolist()
    outside = [question for question in others if answers.isdisjoint(golds[question])]
    return np.asarray(outside, dtype=np.int64), inside


def _grouped(keys: Rows, values: Rows, count: int) -> list[Rows]:
    """Return, for each key in [0, count), its values."""
    order = np.argsort(keys, kind="stable")
    ends = np.cumsum(np.bincount(keys, minlength=count))
    return np.split(values[order], ends[:-1]) if count else []
