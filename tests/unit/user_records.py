"""Records of an invented user, short to write."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from seedmem.memory import Deleted, Kind, Memory, Record, Subject
from seedmem.user import UserState
from seedmem.vectors import Matrix, Vector, VectorSpace, unit_rows

DIM = 16
SPACE = VectorSpace("test", DIM)


def rows_of_noise(count: int, *, seed: int = 0, dim: int = DIM) -> Matrix:
    """Return ``count`` random unit rows."""
    return unit_rows(np.random.default_rng(seed).normal(size=(count, dim)))


def vector(seed: int) -> Vector:
    row: Vector = rows_of_noise(1, seed=seed)[0]
    return row


def memory(
    memory_id: str,
    sequence: int,
    text: str = "",
    *,
    born: int | None = None,
    session: str | None = "s",
    direction: Vector | None = None,
) -> Memory:
    return Memory(
        memory_id=memory_id,
        text=text,
        vector=vector(sequence) if direction is None else direction,
        sequence=sequence,
        born=sequence if born is None else born,
        session_id=session,
    )


def subject(
    subject_id: str,
    sequence: int,
    name: str,
    memory_ids: Sequence[str] = (),
    *,
    direction: Vector | None = None,
) -> Subject:
    return Subject(
        subject_id=subject_id,
        name=name,
        vector=vector(sequence) if direction is None else direction,
        sequence=sequence,
        memory_ids=tuple(memory_ids),
    )


def gone(memory_id: str, sequence: int) -> Deleted:
    return Deleted(kind=Kind.MEMORY, id=memory_id, sequence=sequence)


def subject_gone(subject_id: str, sequence: int) -> Deleted:
    return Deleted(kind=Kind.SUBJECT, id=subject_id, sequence=sequence)


def state_of(*records: Record, exact_limit: int = 5000) -> UserState:
    state = UserState(SPACE, exact_limit=exact_limit, user_id="ada")
    for record in records:
        state.apply(record)
    return state


def crowd(vectors: Matrix) -> list[tuple[Record, NDArray[np.uint32]]]:
    """Return one memory without words per row of ``vectors``: ``m{i}`` of sequence i + 1."""
    return [
        (memory(f"m{i}", i + 1, direction=row), np.zeros(0, dtype=np.uint32))
        for i, row in enumerate(vectors)
    ]


def ids(state: UserState, rows: Sequence[int] | NDArray[np.integer]) -> list[str]:
    return [state.memory(int(row)).memory_id for row in rows]


def nearest(state: UserState, query: Vector, k: int) -> list[str]:
    """Return the ids of the k nearest live memories, compared one by one."""
    live = [state.memory(int(row)) for row in np.flatnonzero(state.live)]
    live.sort(key=lambda m: (-float(m.vector @ query), m.born))
    return [m.memory_id for m in live[:k]]


def found(state: UserState, query: Vector, k: int) -> list[str]:
    return ids(state, state.dense.search(query, k)[0])


def grown(state: UserState) -> UserState:
    """Build a graph as an owner does."""
    build = state.dense.plan_build()
    build.run()
    while not state.dense.adopt(build):
        build.run()
    return state


def large(count: int = 400, *, exact_limit: int = 100) -> UserState:
    state = UserState(SPACE, exact_limit=exact_limit, user_id="ada")
    state.load(crowd(rows_of_noise(count)))
    return grown(state)


def said(state: UserState) -> dict[str, str]:
    """Return the text of every live memory."""
    live = [state.memory(int(row)) for row in np.flatnonzero(state.live)]
    return {memory.memory_id: memory.text for memory in live}


def session_of(state: UserState, memory_id: str) -> list[str]:
    """Return the ids of a memory's session, walking ``previous`` back and ``next`` forth."""
    row = state.row_of(memory_id)
    assert row is not None
    while state.previous[row] >= 0:
        row = int(state.previous[row])
    walked = [row]
    while state.next[walked[-1]] >= 0:
        walked.append(int(state.next[walked[-1]]))
    return ids(state, walked)
