"""What is remembered and asked: a real conversation if its file is there, else generated text."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seedmem.evaluate.datasets import MemoryItem, QueryItem, parse_lines
from seedmem.memory import Memory, Subject
from seedmem.vectors import Matrix, unit_rows

CONVERSATION = Path("../shared/data/locomo.jsonl")
"""LoCoMo (Maharana et al. 2024) as JSON lines; it may not be shipped with this project."""

LINKS = 6  # memories of one subject
_DEPTH = 48  # true dimensions of a text vector: those of an encoder are far fewer than d
_NOISE = 0.5  # of each of the d dimensions beside a signal of about 1
_WORDS = (
    *("river", "brother", "house", "garden", "winter", "letter", "kite", "market", "bread"),
    *("piano", "summer", "doctor", "train", "window", "teacher", "mountain", "dinner", "sister"),
)


@dataclass(frozen=True)
class Turn:
    """Something said."""

    text: str
    session: str
    created_at: float
    """Seconds since the epoch."""


@dataclass(frozen=True)
class Talk:
    """Turns and questions."""

    source: str
    turns: Sequence[Turn]
    questions: Sequence[str]
    file: Path | None = None
    """Where it was read; None: generated."""

    def turn(self, number: int) -> Turn:
        """Return a turn; after the last the first comes again."""
        return self.turns[number % len(self.turns)]

    def question(self, number: int) -> str:
        """Return a question; after the last the first comes again."""
        return self.questions[number % len(self.questions)]


def talk(file: Path = CONVERSATION) -> Talk:
    """Return the conversations of ``file``, one after another; generated ones if it is missing."""
    if not file.exists():
        return _generated()
    with file.open("rb") as lines:
        items = list(parse_lines(lines))
    turns = [
        Turn(item.text, f"{item.user_id}/{item.session}", item.created_at or 0.0)
        for item in items
        if isinstance(item, MemoryItem)
    ]
    questions = [item.text for item in items if isinstance(item, QueryItem)]
    source = f"{len(turns):,} real turns and {len(questions):,} questions"
    return Talk(source, turns, questions, file)


def vectors(count: int, dim: int, *, seed: int = 0) -> Matrix:
    """Return (count, dim) unit rows spread as texts are: a few true dimensions, and noise."""
    random = np.random.default_rng(seed)
    axes = np.random.default_rng(dim).normal(size=(_DEPTH, dim)) / np.sqrt(_DEPTH)
    signal = random.normal(size=(count, _DEPTH)) @ axes
    return unit_rows(signal + _NOISE * random.normal(size=(count, dim)))


def memories(talk: Talk, matrix: Matrix) -> list[Memory]:
    """Return one memory for each row of ``matrix``, (n, d)."""
    return [
        _memory(talk.turn(number), number, vector) for number, vector in enumerate(matrix, start=1)
    ]


def subjects(count: int, dim: int, known: Sequence[Memory]) -> list[Subject]:
    """Return subjects that each link a few of the ``known`` memories."""
    random = np.random.default_rng(1)
    first = len(known) + 1
    return [
        Subject(
            subject_id=f"subject-{number}",
            name=f"{_WORDS[number % len(_WORDS)]} {number}",
            vector=vector,
            sequence=first + number,
            memory_ids=tuple(known[int(at)].memory_id for at in _some(random, len(known))),
        )
        for number, vector in enumerate(vectors(count, dim, seed=2))
    ]


def _some(random: np.random.Generator, among: int) -> NDArray[np.int64]:
    return random.integers(among, size=LINKS)


def _memory(turn: Turn, number: int, vector: NDArray[np.float32]) -> Memory:
    return Memory(
        memory_id=f"memory-{number}",
        text=turn.text,
        vector=vector,
        sequence=number,
        born=number,
        created_at=turn.created_at,
        session_id=turn.session,
    )


def _generated() -> Talk:
    random = np.random.default_rng(0)

    def said(count: int, words: int) -> list[str]:
        return [" ".join(line) for line in random.choice(_WORDS, (count, words)).tolist()]

    speakers = ("Ada", "Ben")
    turns = [
        Turn(f"{speakers[number % 2]}: {text}", f"session-{number // 20}", 1.7e9 + 60.0 * number)
        for number, text in enumerate(said(5_000, 14))
    ]
    asked = [
        f"When did {speakers[n % 2]} talk about the {t}?" for n, t in enumerate(said(2_000, 4))
    ]
    return Talk(f"{len(turns):,} generated turns and {len(asked):,} questions", turns, asked)
