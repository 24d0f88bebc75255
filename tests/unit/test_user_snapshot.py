import numpy as np
import pytest
from user_records import DIM, SPACE, crowd, gone, ids, memory, rows_of_noise, vector

from seedmem.errors import SnapshotError
from seedmem.user import UserState
from seedmem.vectors import Vector, VectorSpace

VECTORS = rows_of_noise(400)


def large(count: int = 400) -> UserState:
    state = UserState(SPACE, exact_limit=100, user_id="ada")
    state.load(crowd(VECTORS[:count]))
    build = state.dense.plan_build()
    build.run()
    assert state.dense.adopt(build)
    return state


def stored(state: UserState) -> bytes:
    raw = state.dense.snapshot()
    assert raw is not None
    return raw


def empty(*, user_id: str = "ada", space: VectorSpace = SPACE) -> UserState:
    return UserState(space, exact_limit=100, user_id=user_id)


def answers(state: UserState, query: Vector) -> list[tuple[str, float]]:
    rows, cosines = state.dense.search(query, 10)
    return list(zip(ids(state, rows), cosines.tolist(), strict=True))


def test_a_loaded_graph_answers_as_the_stored_one() -> None:
    state, again = large(), empty()

    again.load(reversed(crowd(VECTORS)), graph=stored(state))

    assert again.dense.kind == "hnsw"
    for i in range(20):
        assert answers(again, vector(i)) == answers(state, vector(i))


def test_there_is_nothing_to_store_where_no_graph_is() -> None:
    assert empty().dense.snapshot() is None


def test_a_snapshot_holds_no_vectors() -> None:
    raw = stored(large())

    assert len(raw) < 400 * (4 * DIM + 200)
    for row in VECTORS:
        assert row.tobytes() not in raw


def test_a_snapshot_of_a_loaded_graph_is_as_good_as_the_first() -> None:
    once, twice = empty(), empty()

    once.load(crowd(VECTORS), graph=stored(large()))
    twice.load(crowd(VECTORS), graph=stored(once))

    assert answers(twice, vector(1)) == answers(once, vector(1))


def test_a_loaded_graph_grows_and_forgets() -> None:
    state = empty()
    state.load(crowd(VECTORS), graph=stored(large()))

    for i in range(300):
        state.apply(memory(f"new{i}", 1000 + i))
        assert ids(state, state.dense.search(vector(1000 + i), 1)[0]) == [f"new{i}"]
    for i in range(50):
        state.apply(gone(f"m{i}", 2000 + i))
        assert f"m{i}" not in ids(state, state.dense.search(VECTORS[i], 20)[0])

    assert state.dense.kind == "hnsw"


def test_memories_that_came_and_went_since_are_caught_up_with() -> None:
    raw = stored(large(350))
    entries = [e for i, e in enumerate(crowd(VECTORS)) if i % 10]  # a tenth is deleted, 50 are new
    state = empty()

    state.load(entries, graph=raw)

    assert state.dense.kind == "hnsw"
    for i in range(400):
        first = ids(state, state.dense.search(VECTORS[i], 1)[0])
        assert (first == [f"m{i}"]) == bool(i % 10)


def test_tombstones_of_a_snapshot_stay_dead_and_their_neighbours_are_found() -> None:
    stored_state = large()
    for i in range(0, 400, 5):
        stored_state.apply(gone(f"m{i}", 1000 + i))
    raw = stored(stored_state)
    state = empty()

    state.load([e for i, e in enumerate(crowd(VECTORS)) if i % 5], graph=raw)

    assert state.dense.kind == "hnsw"
    for i in range(400):
        assert (ids(state, state.dense.search(VECTORS[i], 1)[0]) == [f"m{i}"]) == bool(i % 5)


@pytest.mark.parametrize("kept", [range(290), range(0)])
def test_a_snapshot_too_far_from_the_records_is_refused_as_stale(kept: range) -> None:
    state = empty()

    with pytest.raises(SnapshotError, match="stale"):
        state.load([crowd(VECTORS)[i] for i in kept], graph=stored(large()))

    assert (state.size, state.dense.kind) == (len(kept), "exact")


def test_a_snapshot_that_lacks_too_many_memories_is_refused_as_stale() -> None:
    state = empty()

    with pytest.raises(SnapshotError, match="stale"):
        state.load(crowd(VECTORS), graph=stored(large(200)))

    assert ids(state, state.dense.search(VECTORS[399], 1)[0]) == ["m399"]


@pytest.mark.parametrize(
    "reader", [empty(user_id="bob"), empty(space=VectorSpace("other", DIM))], ids=["user", "space"]
)
def test_f53_a_snapshot_of_another_user_or_space_is_refused(reader: UserState) -> None:
    with pytest.raises(SnapshotError, match="snapshot is of"):
        reader.load(crowd(VECTORS), graph=stored(large()))


def test_f30_damaged_bytes_never_reach_the_graph(monkeypatch: pytest.MonkeyPatch) -> None:
    raw, reader = stored(large()), empty()
    reader.load(crowd(VECTORS))
    places = [*range(96), *np.random.default_rng(0).integers(96, len(raw), 100).tolist()]
    damaged = [raw[:i] + bytes([raw[i] ^ 0x41]) + raw[i + 1 :] for i in places]
    damaged += [b"", raw[: len(raw) // 2], raw[:-1], raw + b"\0", bytes(len(raw)), b"\x80\x04N."]

    monkeypatch.setattr("seedmem.user.snapshot.hnswlib", None)  # whatever is asked of it fails

    for broken in damaged:
        with pytest.raises(SnapshotError):
            reader.dense.restore(broken)

    assert reader.dense.kind == "exact"
    assert ids(reader, reader.dense.search(VECTORS[3], 1)[0]) == ["m3"]


def test_f28_each_snapshot_taken_between_writes_loads_and_answers_alike() -> None:
    state = large()
    entries = crowd(VECTORS)

    for i in range(60):
        entry = (memory(f"new{i}", 1000 + i), None)
        state.apply(*entry)
        entries.append(entry)
        if i % 10 == 0:
            again = empty()
            again.load(entries, graph=stored(state))
            assert again.size == state.size
            assert answers(again, vector(1000 + i)) == answers(state, vector(1000 + i))
