"""What is asked of one user's memories, and what comes back."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from seedmem.vectors import Vector

Mode = Literal["lookup", "association"]
"""``lookup`` answers a question; ``association`` finds what a remark brings to mind."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Query:
    """One question.

    Raises:
        ValueError: neither text nor vector, or ``k`` below 1.
    """

    text: str | None = None
    """None: the vector and the subjects answer alone."""
    vector: Vector | None = None
    """(d,), unit norm, the encoded text; None: keywords answer alone."""
    k: int = 10
    mode: Mode = "lookup"
    as_of: float | None = None
    """Seconds since the epoch. Later memories are invisible; "last week" is the week before it."""
    subjects: tuple[str, ...] = ()
    """Only memories that one of these names is linked to."""
    sessions: tuple[str, ...] = ()
    """Only memories of these sessions."""
    since: float | None = None
    """Only memories created at or after; seconds since the epoch."""
    until: float | None = None
    """Only memories created before; seconds since the epoch."""

    def __post_init__(self) -> None:
        if self.text is None and self.vector is None:
            raise ValueError("a query needs a text or a vector, got neither")
        if self.k < 1:
            raise ValueError(f"k must be at least 1, got {self.k}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Hit:
    """One memory that was found."""

    memory_id: str
    text: str
    score: float
    """Comparable within one answer only."""
    tier: str
    """What found it: the leg with the largest share of the score."""
    parts: Mapping[str, float]
    """Each feature's share; they add up to ``score``."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The best memories, best first."""

    hits: tuple[Hit, ...]
    confidence: float
    """Chance, from 0 to 1, that the question can be answered from these memories."""
    abstained: bool
    """Whether ``confidence`` is so low that nothing here should be taken for an answer."""
