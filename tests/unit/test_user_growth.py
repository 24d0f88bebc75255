"""F26: a large user's graph grows by itself, also where hnswlib alone refuses."""

import time
from itertools import pairwise

import numpy as np
import pytest
from user_records import DIM, SPACE, crowd, found, gone, grown, ids, memory, rows_of_noise, vector

from seedmem.errors import VectorError
from seedmem.user import UserState

BATCH = 64  # records of one write, as the agents bring them


def full(state: UserState) -> int:
    """Bring memories in until the next one needs a larger graph; return how many there are."""
    while room(state) > 0:
        state.apply(memory(f"m{state.size}", state.size + 1))
    return state.size


def room(state: UserState) -> int:
    assert state.dense._graph is not None
    index = state.dense._graph.index
    return int(index.get_max_elements() - index.get_current_count())


def test_f26_a_user_grows_from_nothing_over_1_and_17_to_1025() -> None:
    state, vectors = UserState(SPACE, exact_limit=0), rows_of_noise(1_025)
    entries = crowd(vectors)

    for before, after in pairwise((0, 1, 17, 1_025)):
        state.load(entries[before:after])
        grown(state)

        assert (state.dense.kind, state.size) == ("hnsw", after)
        assert [found(state, row, 1) for row in vectors[:after]] == [
            [f"m{n}"] for n in range(after)
        ]
        first = ids(state, state.dense.search(vector(7), 512)[0])
        assert len(set(first)) == len(first) == min(512, after)


def test_f26_a_batch_across_the_limit_is_whole_and_again_changes_nothing() -> None:
    state = UserState(SPACE, exact_limit=0)
    state.load(crowd(rows_of_noise(200)))
    count = full(state)
    batch = [(memory(f"new{n}", 10_000 + n), None) for n in range(10)]

    for _ in range(3):
        state.load(batch)

        assert state.size == count + 10
        assert [found(state, vector(10_000 + n), 1) for n in range(10)] == [
            [f"new{n}"] for n in range(10)
        ]
    assert state.dense._graph is not None
    assert state.dense._graph.count == count + 10


def test_f26_a_batch_that_is_refused_leaves_nothing_and_then_comes_whole() -> None:
    state = UserState(SPACE, exact_limit=0)
    state.load(crowd(rows_of_noise(200)))
    count = full(state)
    good = [(memory(f"new{n}", 10_000 + n), None) for n in range(10)]
    bad = (memory("bad", 20_000, direction=np.zeros(DIM, dtype=np.float32)), None)

    with pytest.raises(VectorError):
        state.load([*good[:5], bad, *good[5:]])
    assert state.size == count
    state.load(good)

    assert state.size == count + 10
    assert found(state, vector(10_009), 1) == ["new9"]


def test_f26_a_full_graph_of_which_half_is_deleted_takes_more() -> None:
    state = UserState(SPACE, exact_limit=0)
    state.load(crowd(rows_of_noise(200)))
    count = full(state)

    for n in range(0, count, 2):
        state.apply(gone(f"m{n}", 10_000 + n))
    assert state.dense.kind == "hnsw"
    for n in range(100):
        state.apply(memory(f"new{n}", 20_000 + n))
        assert found(state, vector(20_000 + n), 1) == [f"new{n}"]

    everything = found(state, vector(3), 512)
    assert len(everything) == len(set(everything)) == min(512, count // 2 + 100)
    assert not {f"m{n}" for n in range(0, count, 2)} & set(everything)


@pytest.mark.slow
def test_f26_from_1025_to_20000_no_batch_takes_long() -> None:
    state, vectors = UserState(SPACE, exact_limit=1_000), rows_of_noise(20_000)
    entries = crowd(vectors)
    state.load(entries[:1_025])
    grown(state)

    pauses = []  # seconds of CPU
    for start in range(1_025, 20_000, BATCH):
        began = time.thread_time()
        state.load(entries[start : start + BATCH])
        pauses.append(time.thread_time() - began)
        state.load(entries[start : start + BATCH])  # redelivered

    assert (state.dense.kind, state.size) == ("hnsw", 20_000)
    assert max(pauses) < 0.1
    lost = sum(found(state, vectors[n], 1) != [f"m{n}"] for n in range(0, 20_000, 20))
    assert lost == 0
