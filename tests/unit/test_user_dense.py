import threading
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
    state_of,
    vector,
)

from seedmem.errors import VectorError
from seedmem.user import UserState
from seedmem.user.graph import Graph
from seedmem.vectors import Matrix, Vector, VectorSpace, unit_rows


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


@pytest.mark.parametrize("exact_limit", [5000, 0])
@pytest.mark.parametrize("count", [0, 1, 3, 50])
def test_search_gives_as_many_as_there_are_best_first(count: int, exact_limit: int) -> None:
    state = UserState(SPACE, exact_limit=exact_limit)
    state.load(crowd(rows_of_noise(count)))

    for k in (0, 1, 5, 10, 10**6):
        rows, cosines = state.dense.search(vector(99), k)
        assert ids(state, rows) == nearest(state, vector(99), k)
        assert cosines.tolist() == sorted(cosines.tolist(), reverse=True)
        assert cosines.dtype == np.float32


@pytest.mark.parametrize("exact_limit", [5000, 0])
def test_deleted_memories_are_never_found_and_leave_the_others(exact_limit: int) -> None:
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
def test_a_query_that_cannot_be_compared_is_refused(bad: np.ndarray) -> None:
    with pytest.raises(VectorError, match="finite"):
        large().dense.search(bad, 3)


def test_a_graph_is_asked_for_above_the_limit_and_exact_search_serves_until_then() -> None:
    state = UserState(SPACE, exact_limit=10)
    state.load(crowd(rows_of_noise(10)))
    assert not state.dense.needs_graph

    state.load(crowd(rows_of_noise(300)))

    assert state.dense.needs_graph
    assert state.dense.kind == "exact"
    assert found(state, vector(5), 5) == nearest(state, vector(5), 5)

    grown(state)
    assert not state.dense.needs_graph
    assert state.dense.kind == "hnsw"
    assert found(state, vector(5), 5) == nearest(state, vector(5), 5)


def test_limit_zero_means_a_graph_from_the_first_memory() -> None:
    state = state_of(memory("a", 1), exact_limit=0)

    assert state.dense.kind == "hnsw"
    assert found(state, vector(1), 10) == ["a"]


def test_what_happens_while_a_graph_is_built_is_in_it_when_it_serves() -> None:
    state = UserState(SPACE, exact_limit=100)
    state.load(crowd(rows_of_noise(300)))
    build = state.dense.plan_build()

    state.apply(gone("m0", 1000))
    state.apply(memory("m1", 1001, born=2))
    for i in range(200):
        state.apply(memory(f"late{i}", 2000 + i))
    build.run()

    assert not state.dense.adopt(build)  # 201 are too many to be added under the lock
    build.run()
    assert state.dense.adopt(build)
    assert state.dense.kind == "hnsw"
    for query in (rows_of_noise(300)[0], vector(1001), vector(2100)):
        assert found(state, query, 5) == nearest(state, query, 5)


def test_a_growing_graph_finds_each_memory_at_once_and_never_twice() -> None:
    state = large(300)

    for i in range(1000):  # across several capacities
        state.apply(memory(f"new{i}", 1000 + i))
        state.apply(memory(f"new{i}", 1000 + i))  # redelivered
        assert found(state, vector(1000 + i), 1) == [f"new{i}"]

    assert state.size == 1300
    everyone = found(state, vector(0), 512)
    assert len(set(everyone)) == 512


def test_an_update_moves_a_memory_in_the_graph() -> None:
    state = large()

    state.apply(memory("m7", 1000, born=8, direction=vector(70)))

    assert found(state, vector(70), 1) == ["m7"]
    assert found(state, rows_of_noise(400)[7], 1) != ["m7"]


def test_many_tombstones_call_for_a_new_graph() -> None:
    state = large(400, exact_limit=100)
    for i in range(120):
        state.apply(gone(f"m{i}", 1000 + i))
    assert state.dense.needs_graph

    grown(state)

    assert not state.dense.needs_graph
    assert found(state, vector(3), 10) == nearest(state, vector(3), 10)


def test_a_graph_of_mostly_tombstones_is_let_go_even_if_nobody_builds_anew() -> None:
    state = large(400, exact_limit=100)

    for round_ in range(2):
        for i in range(400):
            state.apply(memory(f"m{i}", 1000 * (round_ + 1) + i, born=i + 1))

    assert state.dense.kind == "exact"
    assert found(state, vector(2007), 10) == nearest(state, vector(2007), 10)


def test_a_user_that_shrinks_to_half_the_limit_is_searched_exactly() -> None:
    state = large(400, exact_limit=300)

    for i in range(250):
        state.apply(gone(f"m{i}", 1000 + i))

    assert state.dense.kind == "exact"
    assert not state.dense.needs_graph
    assert state.dense.nbytes == 0


def test_near_duplicates_are_all_returned() -> None:
    vectors = unit_rows(vector(1) + 1e-4 * rows_of_noise(3000))
    state = UserState(SPACE, exact_limit=100)
    state.load(crowd(vectors))
    grown(state)

    for k in (10, 400, 3000):
        rows, cosines = state.dense.search(vector(1), k)
        assert len(set(rows.tolist())) == k
        assert (np.diff(cosines) <= 0).all()


def test_when_the_graph_gives_too_few_exact_search_answers() -> None:
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


def test_a_graph_that_does_not_find_its_own_vectors_is_let_go() -> None:
    state = large()
    wrong = Graph(DIM, capacity=400)
    wrong.add(np.arange(1, 401), rows_of_noise(400, seed=9))
    assert state.dense.audit()

    state.dense._graph = wrong

    assert not state.dense.audit()
    assert state.dense.kind == "exact"
    assert state.dense.needs_graph


def test_a_build_that_does_not_find_its_own_vectors_is_not_tried_again_until_growth() -> None:
    state = UserState(SPACE, exact_limit=100)
    state.load(crowd(rows_of_noise(300)))
    build = state.dense.plan_build()
    build.run()
    build.graph = Graph(DIM, capacity=400)
    build.graph.add(np.arange(1, 301), rows_of_noise(300, seed=9))

    assert state.dense.adopt(build)

    assert (state.dense.kind, state.dense.needs_graph) == ("exact", False)
    for i in range(30):
        state.apply(memory(f"new{i}", 1000 + i))
    assert state.dense.needs_graph


def test_a_build_runs_beside_writes_and_queries_of_the_same_user() -> None:
    state = UserState(SPACE, exact_limit=100)
    state.load(crowd(rows_of_noise(2000)))
    build = state.dense.plan_build()
    builder = threading.Thread(target=build.run)
    builder.start()

    for i in range(50):
        state.apply(memory(f"new{i}", 5000 + i))
        assert found(state, vector(5000 + i), 1) == [f"new{i}"]

    builder.join()
    assert state.dense.adopt(build)
    for i in range(50):
        assert found(state, vector(5000 + i), 1) == [f"new{i}"]


def life(count: int, *, seed: int = 0, noise: float = 0.3) -> tuple[Matrix, Matrix]:
    """Return 384-d vectors of about 48 true dimensions, as encoders give them, and 100 queries."""
    rng = np.random.default_rng(seed)
    topics, spread = rng.normal(size=(300, 48)), rng.normal(size=(48, 384)) / np.sqrt(48)
    places = 0.6 * topics[rng.integers(0, 300, count + 100)] + rng.normal(size=(count + 100, 48))
    vectors = unit_rows(places @ spread + noise * rng.normal(size=(count + 100, 384)))
    return vectors[:count], vectors[count:]


def recall_at_10(state: UserState, queries: Matrix) -> float:
    hits = 0
    for query in queries:
        exact = np.argsort(-(state.vectors @ query))[:10]
        hits += len(set(exact.tolist()) & set(state.dense.search(query, 10)[0].tolist()))
    return hits / (10 * len(queries))


@pytest.mark.slow
def test_at_20_000_memories_recall_is_high_and_no_write_is_felt() -> None:
    vectors, queries = life(20_000)
    state = UserState(VectorSpace("test", 384), exact_limit=5000)
    entries = crowd(vectors)
    state.load(entries[:15_000])
    grown(state)

    pauses = []
    for entry in entries[15_000:]:
        start = time.thread_time()
        state.apply(*entry)
        pauses.append(time.thread_time() - start)

    assert state.dense.kind == "hnsw"
    assert max(pauses) < 0.1  # seconds
    assert recall_at_10(state, queries) >= 0.99


def test_recall_at_10_is_high() -> None:
    vectors, queries = life(2000)
    state = UserState(VectorSpace("test", 384), exact_limit=500)
    state.load(crowd(vectors))
    grown(state)

    assert state.dense.kind == "hnsw"
    assert recall_at_10(state, queries) >= 0.99
