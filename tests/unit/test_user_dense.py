import numpy as np
import pytest
from user_records import (
    DIM,
    SPACE,
    crowd,
    found,
    gone,
    grown,
    ids,
    large,
    memory,
    nearest,
    rows_of_noise,
    state_of,
    vector,
)

from seedmem.errors import VectorError
from seedmem.user import UserState
from seedmem.user.graph import Graph
from seedmem.vectors import Vector, unit_rows


@pytest.mark.parametrize("exact_limit", [5000, 0])
@pytest.mark.parametrize("count", [0, 1, 3, 50])
def test_f25_search_gives_as_many_as_there_are_best_first(count: int, exact_limit: int) -> None:
    state = UserState(SPACE, exact_limit=exact_limit)
    state.load(crowd(rows_of_noise(count)))

    for k in (0, 1, 5, 10, 10**6):
        rows, cosines = state.dense.search(vector(99), k)
        assert ids(state, rows) == nearest(state, vector(99), k)
        assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
        assert cosines.dtype == np.float32


@pytest.mark.parametrize("exact_limit", [5000, 0])
def test_f25_deleted_memories_are_never_found_and_leave_the_others(exact_limit: int) -> None:
    state = UserState(SPACE, exact_limit=exact_limit)
    state.load(crowd(rows_of_noise(50)))
    for i in range(45):
        state.apply(gone(f"m{i}", 100 + i))

    assert len(found(state, vector(0), 10)) == 5
    assert found(state, vector(0), 10) == nearest(state, vector(0), 10)


def test_the_elder_of_two_equal_memories_comes_first() -> None:
    state = state_of(*(memory(f"m{i}", 9 - i, direction=vector(1)) for i in range(3)))

    assert found(state, vector(1), 3) == ["m2", "m1", "m0"]


@pytest.mark.parametrize(
    "bad",
    [
        np.full(DIM, np.nan, dtype=np.float32),
        np.full(DIM, -np.inf, dtype=np.float32),
        np.zeros(DIM + 1, dtype=np.float32),
        np.zeros((1, DIM), dtype=np.float32),
    ],
)
def test_f35_a_query_that_cannot_be_compared_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(VectorError, match="finite"):
        large().dense.search(bad, 3)


def test_f25_near_duplicates_are_all_returned() -> None:
    vectors = unit_rows(vector(1) + 1e-4 * rows_of_noise(5000))
    state = UserState(SPACE, exact_limit=100)
    state.load(crowd(vectors))
    grown(state)

    for k in (10, 400, 5000):
        rows, cosines = state.dense.search(vector(1), k)
        assert len(set(rows.tolist())) == k
        assert (np.diff(cosines) <= 0).all()


def test_f25_when_the_graph_gives_too_few_exact_search_answers() -> None:
    state = large()

    class Lost(Graph):
        def nearest(self, query: Vector, k: int) -> np.ndarray:
            raise RuntimeError("Cannot return the results in a contiguous 2D array")

    class Strange(Graph):
        def nearest(self, query: Vector, k: int) -> np.ndarray:
            return np.arange(k) + 10**9

    for kind in (Lost, Strange):
        state.dense._graph = kind(DIM, capacity=10)
        assert found(state, vector(3), 10) == nearest(state, vector(3), 10)
