"""Supervision: (query, memory, outcome) pairs, and what of them can be learned from."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from seedmem.errors import VectorError
from seedmem.learn.examples import Corpus, Examples
from seedmem.vectors import Vector, unit


class Outcome(StrEnum):
    """What the user did with a memory that a query brought up."""

    USED = "used"
    REJECTED = "rejected"


class Dropped(StrEnum):
    """Why a pair teaches nothing."""

    DELETED = "deleted"
    """Its memory is gone."""
    VECTOR = "vector"
    """Its query vector has another length, a component that is not finite, or no direction."""
    REPEATED = "repeated"
    """A newer pair says the same."""
    CONTRADICTED = "contradicted"
    """A newer pair says the opposite."""
    UNANSWERED = "unanswered"
    """No memory was used for its query, so there is nothing to prefer to what was rejected."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """One recall, as the user judged it."""

    memory_id: str
    vector: Vector
    """(d,): the encoded query, not adapted."""
    text: str | None = None
    """The query, if it had words."""
    outcome: Outcome = Outcome.USED
    at: float
    """Seconds since the epoch; of two pairs that disagree the later holds."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evidence:
    """Questions that can be learned from, in the order they were first asked."""

    examples: Examples
    texts: tuple[str | None, ...]
    asked_at: tuple[float, ...]
    """Seconds since the epoch, of the latest pair of each question."""
    dropped: Mapping[Dropped, int]
    """Pairs left out, by reason."""


def gather(pairs: Iterable[Pair], corpus: Corpus) -> Evidence:
    """Return what ``pairs`` teach about ``corpus``; the same in whatever order they come.

    Pairs with one query vector (in float16) are one question. Nothing here raises on
    bad pairs: they are dropped and counted.
    """
    dropped: Counter[Dropped] = Counter()
    questions: dict[bytes, dict[int, Pair]] = {}
    for pair in sorted(pairs, key=lambda pair: (-pair.at, pair.outcome, pair.memory_id)):
        vector, row = _usable(pair, corpus), corpus.row_of.get(pair.memory_id)
        if vector is None or row is None:
            dropped[Dropped.VECTOR if vector is None else Dropped.DELETED] += 1
            continue
        said = questions.setdefault(vector.astype(np.float16).tobytes(), {})
        newer = said.setdefault(row, pair)
        if newer is not pair:
            same = newer.outcome is pair.outcome
            dropped[Dropped.REPEATED if same else Dropped.CONTRADICTED] += 1
    answered = [said for said in questions.values() if _rows(said, Outcome.USED)]
    unanswered = sum(len(said) for said in questions.values() if not _rows(said, Outcome.USED))
    dropped[Dropped.UNANSWERED] += unanswered
    return _evidence(answered, corpus, +dropped)


def _usable(pair: Pair, corpus: Corpus) -> Vector | None:
    """Return the unit vector of the pair's query, or None if it cannot be compared."""
    if np.shape(pair.vector) != (corpus.space.dim,):
        return None
    try:
        return unit(pair.vector)
    except VectorError:
        return None


def _rows(said: Mapping[int, Pair], outcome: Outcome) -> tuple[int, ...]:
    return tuple(sorted(row for row, pair in said.items() if pair.outcome is outcome))


def _evidence(
    answered: list[dict[int, Pair]], corpus: Corpus, dropped: Mapping[Dropped, int]
) -> Evidence:
    oldest_first = sorted(answered, key=lambda said: min(pair.at for pair in said.values()))
    latest = [max(said.values(), key=lambda pair: pair.at) for said in oldest_first]
    vectors = [unit(pair.vector) for pair in latest]
    return Evidence(
        examples=Examples(
            queries=np.array(vectors, dtype=np.float32).reshape(len(vectors), corpus.space.dim),
            golds=tuple(_rows(said, Outcome.USED) for said in oldest_first),
            rejected=tuple(_rows(said, Outcome.REJECTED) for said in oldest_first),
        ),
        texts=tuple(pair.text for pair in latest),
        asked_at=tuple(pair.at for pair in latest),
        dropped=dropped,
    )
