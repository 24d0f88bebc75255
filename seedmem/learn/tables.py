"""The two sides that a query is compared with, as tensors: memories and subjects."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from seedmem.learn.config import FitConfig
from seedmem.learn.examples import Corpus, Examples, Rows
from seedmem.learn.negatives import hard_negatives

_EVERY_LIMIT = (
    4096  # rows; beyond it "every" memory is a seeded sample plus all that the pairs name
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """Unit vectors, and for each of P (question, gold) pairs what is right and what is hard."""

    vectors: Tensor
    """(m, d)"""
    question: Tensor
    """(P,): the question of each pair."""
    target: Tensor
    """(P,): the row that is right; −1 where there is none."""
    known: Tensor
    """(P, G): every row that is right, padded with −1."""
    hard: Tensor
    """(P, N): rows of hard negatives, padded with −1."""
    every: Tensor
    """(C,) ascending: the rows that stand for the whole table."""
    in_batch: bool
    """Whether a batch is compared with its own rows, or with ``every``."""

    def pairs_of(self, questions: Rows) -> Tensor:
        """Return the pairs of ``questions``."""
        return torch.isin(self.question, torch.from_numpy(questions)).nonzero()[:, 0]

    def candidates(self, batch: Tensor) -> Tensor:
        """Return the rows, ascending, that the pairs of ``batch`` are compared with."""
        if not self.in_batch:
            return self.every
        named = torch.cat([self.target[batch], self.hard[batch].ravel()])
        rows: Tensor = torch.unique(named[named >= 0])  # sorted
        return rows


def memory_table(examples: Examples, corpus: Corpus, config: FitConfig) -> Table:
    """Return the memories, one pair per question and gold. Equal memories count as one row."""
    pairs = [(i, gold) for i, golds in enumerate(examples.golds) for gold in golds]
    twins = corpus.twin_of
    hard = hard_negatives(examples, corpus, count=config.hard_negatives)
    target = twins[[gold for _, gold in pairs]]
    known = _padded([twins[list(examples.golds[i])] for i, _ in pairs])
    negatives = _padded([twins[rows] for of_question in hard for rows in of_question])
    return Table(
        vectors=torch.from_numpy(np.ascontiguousarray(corpus.memories)),
        question=torch.tensor([i for i, _ in pairs]),
        target=torch.from_numpy(target),
        known=known,
        hard=negatives,
        every=_every(
            np.unique(twins),
            torch.cat([torch.from_numpy(target)[:, None], negatives], 1),
            config.seed,
        ),
        in_batch=config.negatives == "batch",
    )


def subject_table(examples: Examples, corpus: Corpus) -> Table:
    """Return the subjects; of its gold's subjects, a pair aims at the one nearest its query."""
    pairs = [(i, gold) for i, golds in enumerate(examples.golds) for gold in golds]
    about = [corpus.subjects_of[gold] for _, gold in pairs]
    nearest = [
        int(rows[np.argmax(corpus.subjects[rows] @ examples.queries[i])]) if rows.size else -1
        for (i, _), rows in zip(pairs, about, strict=True)
    ]
    return Table(
        vectors=torch.from_numpy(np.ascontiguousarray(corpus.subjects)),
        question=torch.tensor([i for i, _ in pairs]),
        target=torch.tensor(nearest),
        known=_padded(about),
        hard=torch.full((len(pairs), 1), -1),
        every=torch.arange(len(corpus.subjects)),
        in_batch=True,
    )


def _padded(rows: Sequence[Rows]) -> Tensor:
    """Return ``rows`` as one (n, longest) tensor, padded with −1; at least one column."""
    width = max((len(r) for r in rows), default=0)
    padded = np.full((len(rows), max(width, 1)), -1, dtype=np.int64)
    for i, r in enumerate(rows):
        padded[i, : len(r)] = r
    return torch.from_numpy(padded)


def _every(rows: Rows, named: Tensor, seed: int) -> Tensor:
    """Return ``rows``, or a sample of them that holds all that are ``named``."""
    if len(rows) > _EVERY_LIMIT:
        sample = np.random.default_rng(seed).choice(rows, _EVERY_LIMIT, replace=False)
        rows = np.union1d(sample, named[named >= 0].numpy())
    return torch.from_numpy(rows)
