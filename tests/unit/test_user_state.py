import gc
import time

import numpy as np
import pytest
from user_records import (
    DIM,
    SPACE,
    crowd,
    gone,
    ids,
    memory,
    rows_of_noise,
    said,
    session_of,
    state_of,
    subject,
    subject_gone,
    vector,
)

from seedmem.errors import VectorError
from seedmem.memory import Memory
from seedmem.text import hash_terms, terms
from seedmem.user import UserState


def test_a_memory_comes_back_as_it_was_put_in() -> None:
    full = Memory(
        memory_id="a", text="hi", vector=vector(1), sequence=7, born=3, created_at=12.5,
        session_id="s", role="Ada", metadata={"place": "Rome"},
    )  # fmt: skip
    bare = Memory(memory_id="b", text="", vector=vector(2), sequence=8, born=8)
    state = state_of(full, bare)

    for put_in, got in ((full, state.memory(0)), (bare, state.memory(1))):
        assert (got.vector == put_in.vector).all()
        fields = set(Memory.__dataclass_fields__) - {"vector"}
        assert {f: getattr(got, f) for f in fields} == {f: getattr(put_in, f) for f in fields}


def test_columns_say_when_where_who_how_long_and_whether_it_asks() -> None:
    state = state_of(
        Memory(memory_id="a", text="Ada: where is my red car?", vector=vector(1), sequence=1,
               born=1, created_at=5.0, session_id="s1"),
        Memory(memory_id="b", text="here", vector=vector(2), sequence=2, born=2, role="ADA"),
        Memory(memory_id="c", text="", vector=vector(3), sequence=3, born=3, session_id="s1"),
    )  # fmt: skip

    assert state.created_at.tolist()[:1] == [5.0]
    assert np.isnan(state.created_at[1:]).all()
    assert state.born.tolist() == [1, 2, 3]
    assert [state.sessions[code] for code in state.session] == ["s1", None, "s1"]
    assert state.speaker.tolist() == [0, 0, -1]
    assert state.speakers == ["ada"]
    assert state.length.tolist() == [3, 0, 0]  # ada, red, car
    assert state.is_question.tolist() == [True, False, False]


def test_f32_create_delete_delete_unknown_and_create_again_end_as_the_newest_says() -> None:
    history = [
        memory("x", 1, "first"), gone("x", 2), gone("x", 3), gone("never", 4),
        memory("x", 5, "second"), memory("x", 6, "third", born=5), gone("x", 7),
    ]  # fmt: skip

    state = state_of(*history)
    assert said(state) == {}

    for record in history:  # all of it once more
        state.apply(record)
    assert said(state) == {}

    state.apply(memory("x", 8, "back"))
    assert said(state) == {"x": "back"}


def test_a_redelivered_or_older_record_changes_nothing() -> None:
    state = state_of(memory("x", 5, "new"), subject("s", 6, "Chess", ["x"]))

    for record in (memory("x", 5, "again"), memory("x", 4, "old"), gone("x", 3),
                   subject_gone("s", 2), subject("s", 6, "Go")):  # fmt: skip
        state.apply(record)

    assert said(state) == {"x": "new"}
    assert state.subjects.names == ["Chess"]


def test_a_memory_and_a_subject_may_have_one_id() -> None:
    state = state_of(memory("x", 1, "m"), subject("x", 2, "n"), gone("x", 3))

    assert (state.size, state.subjects.names) == (0, ["n"])


def test_session_order_follows_born_whatever_the_arrival() -> None:
    state = state_of(
        memory("c", 30), memory("a", 10), memory("other", 15, session="t"), memory("b", 20)
    )
    assert session_of(state, "b") == ["a", "b", "c"]
    assert session_of(state, "other") == ["other"]

    state.apply(memory("a", 40, "edited", born=10))
    assert session_of(state, "b") == ["a", "b", "c"]

    state.apply(gone("b", 41))
    assert session_of(state, "c") == ["a", "c"]

    state.apply(memory("b", 42))
    assert session_of(state, "c") == ["a", "c", "b"]

    state.apply(memory("c", 43, born=30, session="t"))
    assert session_of(state, "c") == ["other", "c"]
    assert session_of(state, "a") == ["a", "b"]


def test_the_last_of_a_session_may_go_and_the_next_takes_its_place() -> None:
    state = state_of(memory("a", 1), memory("b", 2), gone("b", 3), memory("c", 4), gone("a", 5))

    assert session_of(state, "c") == ["c"]


@pytest.mark.parametrize(
    "bad",
    [
        np.full(DIM, np.nan, dtype=np.float32),
        np.full(DIM, np.inf, dtype=np.float32),
        np.zeros(DIM, dtype=np.float32),
        np.ones(DIM, dtype=np.float32),
        np.full(DIM, 1e-38, dtype=np.float32),
        np.ones(DIM - 1, dtype=np.float32),
        np.zeros(0, dtype=np.float32),
    ],
)
def test_f35_a_vector_that_cannot_be_compared_is_refused_and_nothing_is_touched(
    bad: np.ndarray,
) -> None:
    state = state_of(memory("a", 1, "old"), subject("s", 2, "Chess"))

    for record in (memory("a", 3, "new", direction=bad), subject("s", 4, "Go", direction=bad)):
        with pytest.raises(VectorError):
            state.load([(memory("b", 5), None), (record, None)])

    assert said(state) == {"a": "old"}
    assert state.subjects.names == ["Chess"]
    assert ids(state, state.dense.search(vector(1), 1)[0]) == ["a"]


def test_loading_in_pages_or_at_once_or_one_by_one_is_the_same() -> None:
    history = [memory(f"m{i % 30}", i + 1, f"text {i}", born=i % 30 + 1) for i in range(90)]
    at_once, paged, single = state_of(), state_of(), state_of(*history)

    at_once.load([(record, None) for record in reversed(history)])
    for start in range(0, 90, 7):
        paged.load([(record, None) for record in history[start : start + 7]])

    assert (
        said(at_once)
        == said(paged)
        == said(single)
        == {f"m{i}": f"text {60 + i}" for i in range(30)}
    )
    for state in (at_once, paged, single):
        assert session_of(state, "m5") == [f"m{i}" for i in range(30)]


@pytest.mark.parametrize(
    "text", ["", " ", "\u200b", "\x00", "\ud83d", "👩‍👩‍👧", "\u202eabc", "猫" * 300]
)
def test_any_text_is_kept_as_it_is(text: str) -> None:
    state = state_of(memory("a", 1, text), subject("s", 2, text, ["a"]))

    assert state.memory(0).text == text
    assert len(state.dense.search(vector(1), 5)[0]) == 1


def test_f36_a_hundred_thousand_states_of_a_few_memories_would_fit_in_two_gb() -> None:
    state = UserState(SPACE)
    state.load(crowd(rows_of_noise(10)))

    assert state.nbytes < 10_000
    assert state.dense.kind == "exact"


def test_two_thousand_memories_are_loaded_without_reading_their_texts_again() -> None:
    vectors = rows_of_noise(2200, dim=DIM)
    words = hash_terms(terms("some words that a memory of usual length has in it"))
    entries = [(record, words) for record, _ in crowd(vectors)]

    gc.collect()
    start = time.process_time()
    UserState(SPACE).load(entries)

    assert time.process_time() - start < 0.2  # seconds; measured 0.02
