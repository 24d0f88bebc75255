import threading
import time

import numpy as np
import pytest
from user_records import (
    DIM,
    SPACE,
    crowd,
    found,
    gone,
    grown,
    large,
    memory,
    nearest,
    rows_of_noise,
    state_of,
    vector,
)

from seedmem.user import UserState
from seedmem.user.graph import Graph
from seedmem.vectors import Matrix, VectorSpace, unit_rows


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


def test_f26_a_growing_graph_finds_each_memory_at_once_and_never_twice() -> None:
    state = large(300)

    for i in range(1000):  # across several capacities
        state.apply(memory(f"new{i}", 1000 + i))
        state.apply(memory(f"new{i}", 1000 + i))  # redelivered
        assert found(state, vector(1000 + i), 1) == [f"new{i}"]

    assert state.size == 1300
    assert len(set(found(state, vector(0), 512))) == 512


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


def life(count: int) -> tuple[Matrix, Matrix]:
    """Return 384-d vectors of about 48 true dimensions, as encoders give them, and 100 queries."""
    rng = np.random.default_rng(0)
    topics, spread = rng.normal(size=(300, 48)), rng.normal(size=(48, 384)) / np.sqrt(48)
    places = 0.6 * topics[rng.integers(0, 300, count + 100)] + rng.normal(size=(count + 100, 48))
    vectors = unit_rows(places @ spread + 0.3 * rng.normal(size=(count + 100, 384)))
    return vectors[:count], vectors[count:]


def recall_at_10(state: UserState, queries: Matrix) -> float:
    hits = 0
    for query in queries:
        exact = np.argsort(-(state.vectors @ query))[:10]
        hits += len(set(exact.tolist()) & set(state.dense.search(query, 10)[0].tolist()))
    return hits / (10 * len(queries))


@pytest.mark.slow
def test_f26_at_20_000_memories_recall_is_high_and_no_write_is_felt() -> None:
    vectors, queries = life(20_000)
    state = UserState(VectorSpace("test", 384), exact_limit=5000)
    entries = crowd(vectors)
    state.load(entries[:15_000])
    grown(state)

    pauses = []  # seconds
    for entry in entries[15_000:]:
        start = time.thread_time()
        state.apply(*entry)
        pauses.append(time.thread_time() - start)

    assert state.dense.kind == "hnsw"
    assert max(pauses) < 0.1
    assert recall_at_10(state, queries) >= 0.99


def test_recall_at_10_is_high() -> None:
    vectors, queries = life(2000)
    state = UserState(VectorSpace("test", 384), exact_limit=500)
    state.load(crowd(vectors))

    assert grown(state).dense.kind == "hnsw"
    assert recall_at_10(state, queries) >= 0.99


def test_f27_one_lock_keeps_writers_readers_and_builds_of_a_user_apart() -> None:
    state, lock = UserState(SPACE, exact_limit=300, user_id="ada"), threading.Lock()
    missed: list[str] = []

    def write(writer: int) -> None:
        for i in range(200):
            sequence = 10_000 * (writer + 1) + i
            with lock:
                state.apply(memory(f"{writer}-{i}", sequence))
                if i % 3 == 0:
                    state.apply(gone(f"{writer}-{i}", sequence + 5000))
            with lock:
                if (found(state, vector(sequence), 1) == [f"{writer}-{i}"]) == (i % 3 == 0):
                    missed.append(f"{writer}-{i}")

    def build() -> None:
        while state.dense.needs_graph or any(thread.is_alive() for thread in writers):
            with lock:
                plan = state.dense.plan_build() if state.dense.needs_graph else None
            while plan is not None:
                plan.run()
                with lock:
                    if state.dense.adopt(plan):
                        break

    writers = [threading.Thread(target=write, args=(i,)) for i in range(4)]
    for thread in writers:
        thread.start()
    build()
    for thread in writers:
        thread.join()

    assert missed == []
    assert state.size == 4 * 133
    assert not state.dense.needs_graph
    assert found(state, vector(3), 10) == nearest(state, vector(3), 10)
