import pytest
from user_records import (
    SPACE,
    crowd,
    gone,
    ids,
    memory,
    rows_of_noise,
    session_of,
    state_of,
    subject,
    vector,
)

from seedmem.text import hash_terms, terms
from seedmem.user import UserState


def test_an_empty_row_holds_nothing_of_the_deleted_memory() -> None:
    state = state_of(memory("a", 1, "Ada: secret plan?"), memory("b", 2, "hello"), gone("a", 3))

    assert state.live.tolist() == [False, True]
    assert not state.vectors[0].any()
    assert state.length[0] == 0
    assert (state.session[0], state.speaker[0], state.is_question[0]) == (-1, -1, False)
    with pytest.raises(KeyError, match="row 0 holds no memory"):
        state.memory(0)
    with pytest.raises(KeyError):
        state.memory(2)


def test_f34_updates_without_end_do_not_grow_a_state() -> None:
    state = UserState(SPACE)
    state.load(crowd(rows_of_noise(100)))
    fresh = state.nbytes

    for round_ in range(1, 61):
        state.load(
            [(memory(f"m{i}", 100 * round_ + i + 1, "same words"), None) for i in range(100)]
        )

    assert state.size == 100
    assert state.rows <= 200
    assert state.nbytes < 2 * fresh + 100 * 100  # the words are new


def test_f34_after_deleting_all_nothing_is_left_of_texts_names_and_bytes() -> None:
    state = UserState(SPACE)
    for i in range(200):
        state.apply(memory(f"m{i}", i + 1, f"Speaker{i}: word{i}", session=f"s{i}"))
    full = state.nbytes

    for i in range(200):
        state.apply(gone(f"m{i}", 1000 + i))

    assert state.size == 0
    assert state.rows <= 32
    assert len(state.sessions) <= 32
    assert len(state.speakers) <= 32
    assert state.keyword.nbytes <= 32 * 2 * 8
    assert state.nbytes < full / 2
    assert len(state.dense.search(vector(0), 10)[0]) == 0


def test_everything_still_fits_together_after_a_compaction() -> None:
    state = state_of(*(subject(f"s{i}", i + 1, f"name {i}", [f"m{i}"]) for i in range(100)))
    for i in range(100):
        state.apply(memory(f"m{i}", 101 + i, f"word{i}", session=f"s{i % 3}"))
    for i in range(100):
        if i % 4:
            state.apply(gone(f"m{i}", 1000 + i))

    assert state.rows < 100
    for i in range(0, 100, 4):
        row = state.row_of(f"m{i}")
        assert row is not None
        assert state.memory(row).text == f"word{i}"
        assert int(state.keyword.scores(hash_terms(terms(f"word{i}"))).argmax()) == row
        assert (
            state.subjects.names[state.subjects.of_memory(state.words(row).memory_id)[0]]
            == f"name {i}"
        )
        assert ids(state, state.dense.search(vector(101 + i), 1)[0]) == [f"m{i}"]
    assert session_of(state, "m0") == [f"m{i}" for i in range(0, 100, 12)]
