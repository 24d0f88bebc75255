"""Small users for the tests of retrieval and its evaluation."""

from collections.abc import Sequence

import numpy as np

from seedmem.memory import Memory, Subject
from seedmem.user import UserState
from seedmem.vectors import Vector, VectorSpace, unit

DIM = 16
SPACE = VectorSpace("test", DIM)


def random_unit(seed: int) -> Vector:
    """Return the same unit vector for the same seed."""
    return unit(np.random.default_rng(seed).normal(size=DIM))


def memory(
    number: int,
    text: str,
    *,
    vector: Vector | None = None,
    at: float | None = None,
    session: str | None = "s",
    role: str | None = None,
) -> Memory:
    """Return the memory ``m{number}``, by default with a vector of its own."""
    return Memory(
        memory_id=f"m{number}",
        text=text,
        vector=random_unit(number) if vector is None else vector,
        sequence=number,
        born=number,
        created_at=at,
        session_id=session,
        role=role,
    )


def state_of(*records: Memory | Subject, exact_limit: int = 5000) -> UserState:
    """Return a user who holds ``records``."""
    state = UserState(SPACE, exact_limit=exact_limit)
    state.load((record, None) for record in records)
    return state


def talk(texts: Sequence[str], *, at: float = 1.7e9, role: str | None = None) -> UserState:
    """Return a user with one session."""
    return state_of(*(memory(n, text, at=at + n, role=role) for n, text in enumerate(texts)))
