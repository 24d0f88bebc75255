"""Filling a state with columns is the same as loading record by record."""

import numpy as np
import pytest
from user_records import DIM, SPACE, crowd, gone, memory, rows_of_noise, subject

from seedmem.errors import VectorError
from seedmem.memory import Memory
from seedmem.text import hash_terms, terms
from seedmem.user import UserState
from seedmem.user.block import Block

SAID = [
    Memory(
        memory_id=f"m{n}",
        text=f"Ada: thing {n % 7} of {n % 3}" + "?" * (n % 2),
        vector=row,
        sequence=n + 1,
        born=n // 2 + 1,
        created_at=None if n % 5 else float(n),
        session_id=f"s{n % 4}",
        metadata={"place": "Rome"} if n % 6 == 0 else {},
    )
    for n, row in enumerate(rows_of_noise(40))
]


def block(memories: list[Memory]) -> Block:
    vectors = np.array([m.vector for m in memories])
    return Block.of(memories, vectors, [hash_terms(terms(m.text)) for m in memories])


def columns(state: UserState) -> dict[str, object]:
    names = ("live", "created_at", "born", "session", "speaker", "length", "is_question",
             "previous", "next", "vectors", "sessions", "speakers")  # fmt: skip
    return {name: np.asarray(getattr(state, name)).tolist() for name in names}


def test_a_filled_state_equals_a_loaded_one() -> None:
    about = [(subject("a", 50, "thing", ["m1", "m39"]), None)]
    loaded, filled = UserState(SPACE), UserState(SPACE)
    loaded.load([*((m, None) for m in SAID), *about])

    filled.load(about)
    filled.fill([block(SAID[:15]), block(SAID[15:])])

    np.testing.assert_equal(columns(filled), columns(loaded))
    assert [filled.memory(row).metadata for row in (0, 1)] == [{"place": "Rome"}, {}]
    asked = hash_terms(terms("thing 3"))
    assert filled.keyword.scores(asked).tolist() == loaded.keyword.scores(asked).tolist()
    assert filled.subjects.rows_of(0).tolist() == loaded.subjects.rows_of(0).tolist() == [1, 39]
    assert filled.nbytes <= loaded.nbytes


def test_a_filled_state_takes_updates_and_deletions() -> None:
    state = UserState(SPACE)
    state.fill([block(SAID)])

    state.load([(memory("m3", 99, "new words"), None), (gone("m4", 100), None)])

    assert (state.size, state.row_of("m4")) == (39, None)
    assert state.memory(state.row_of("m3") or 0).text == "new words"


@pytest.mark.parametrize("second", [SAID[:1], [*SAID[5:7], SAID[5]]], ids=["here", "twice"])
def test_an_id_that_is_here_is_refused_and_nothing_changes(second: list[Memory]) -> None:
    state = UserState(SPACE)
    state.fill([block(SAID[:5])])

    with pytest.raises(ValueError, match="holds an id that is here"):
        state.fill([block(second)])

    assert state.size == state.rows == 5


@pytest.mark.parametrize("wrong", [np.ones((1, DIM)), np.full((1, DIM), np.nan), np.ones((1, 3))])
def test_vectors_that_do_not_fit_are_refused_and_nothing_changes(wrong: np.ndarray) -> None:
    state = UserState(SPACE)

    with pytest.raises(VectorError):
        state.fill([Block.of(SAID[:1], wrong.astype(np.float32), [None])])

    assert state.rows == 0


def test_no_memories_fill_nothing() -> None:
    state = UserState(SPACE)

    state.fill([])
    state.load(crowd(rows_of_noise(3)))

    assert state.size == 3
