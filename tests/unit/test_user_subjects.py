import numpy as np
import pytest
from user_records import DIM, gone, ids, memory, state_of, subject, subject_gone, vector

from seedmem.memory import Relation, Subject
from seedmem.user import UserState
from seedmem.vectors import Vector


def axis(i: int) -> Vector:
    row: Vector = np.eye(DIM, dtype=np.float32)[i]
    return row


def linked(state: UserState, name: str) -> list[str]:
    index = state.subjects.find(name)
    assert index is not None
    return sorted(ids(state, state.subjects.rows_of(index)))


def test_a_subject_that_comes_before_its_memory_is_joined_when_the_memory_comes() -> None:
    state = state_of(subject("s", 1, "Chess", ["a", "b"]))
    assert (linked(state, "chess"), state.subjects.pending) == ([], 2)

    state.apply(memory("a", 2))

    assert (linked(state, "chess"), state.subjects.pending) == (["a"], 1)


def test_subjects_with_equal_normal_names_are_one_node_with_all_links() -> None:
    state = state_of(
        memory("a", 1), memory("b", 2),
        subject("s1", 3, "Café", ["a"]), subject("s2", 4, "CAFE\u0301", ["b"]),
    )  # fmt: skip

    assert len(state.subjects) == 1
    assert linked(state, "café") == ["a", "b"]


def test_a_node_shows_its_newest_subject_and_falls_back_to_the_one_before() -> None:
    state = state_of(
        subject("old", 1, "ada", direction=axis(0)), subject("new", 2, "Ada", direction=axis(1))
    )
    assert state.subjects.names == ["Ada"]
    assert (state.subjects.matrix[0] == axis(1)).all()

    state.apply(subject_gone("new", 3))

    assert state.subjects.names == ["ada"]
    assert (state.subjects.matrix[0] == axis(0)).all()


def test_an_older_subject_adds_links_but_is_not_shown() -> None:
    state = state_of(
        memory("a", 1), subject("new", 5, "Ada", direction=axis(1)),
        subject("old", 4, "ada", ["a"], direction=axis(0)),
    )  # fmt: skip

    assert state.subjects.names == ["Ada"]
    assert linked(state, "ada") == ["a"]
    assert (state.subjects.matrix[0] == axis(1)).all()


def test_the_newest_subject_set_wins_in_any_order() -> None:
    newer, older = subject("s", 5, "Chess", ["b"]), subject("s", 4, "Chess", ["a"])

    for order in ([older, newer], [newer, older]):
        state = state_of(memory("a", 1), memory("b", 2), *order)
        assert linked(state, "chess") == ["b"]


def test_a_renamed_subject_moves_to_the_other_node() -> None:
    state = state_of(memory("a", 1), subject("s", 2, "Chess", ["a"]), subject("s", 3, "Go", ["a"]))

    assert state.subjects.names == ["Go"]
    assert state.subjects.find("chess") is None
    assert linked(state, "go") == ["a"]


def test_a_deleted_memory_is_linked_no_more_until_it_is_created_again() -> None:
    state = state_of(memory("a", 1), subject("s", 2, "Chess", ["a"]), gone("a", 3))
    assert linked(state, "chess") == []

    state.apply(memory("a", 4))

    assert linked(state, "chess") == ["a"]


def test_a_deleted_subject_is_gone_twice_and_an_unknown_one_too() -> None:
    state = state_of(
        memory("a", 1), subject("s", 2, "Chess", ["a"]), subject_gone("s", 3),
        subject_gone("s", 4), subject_gone("never", 5), subject("s", 1, "Late", ["a"]),
    )  # fmt: skip

    assert len(state.subjects) == 0
    assert state.subjects.of_memory(state.words(0).memory_id).tolist() == []
    assert state.best_subject_scores(vector(0), 40).tolist() == [0.0]


def test_indices_stay_true_when_nodes_in_the_middle_go() -> None:
    state = state_of(*(memory(f"m{i}", i + 1) for i in range(6)))
    for i in range(6):
        state.apply(subject(f"s{i}", 10 + i, f"name {i}", [f"m{i}"], direction=axis(i)))
    for i, name in enumerate(("s0", "s3", "s5")):
        state.apply(subject_gone(name, 20 + i))

    for i in (1, 2, 4):
        indices, cosines = state.subjects.search(axis(i), 1)
        assert state.subjects.names[indices[0]] == f"name {i}"
        assert linked(state, f"name {i}") == [f"m{i}"]
        assert cosines[0] == 1.0


def test_search_gives_the_nearest_nodes_best_first_and_never_more_than_there_are() -> None:
    state = state_of(*(subject(f"s{i}", i + 1, f"n{i}", direction=axis(i)) for i in range(3)))
    query = np.array([0.2, 0.9, 0.3] + [0.0] * (DIM - 3), dtype=np.float32)

    for n in (2, 3, 100):
        indices, cosines = state.subjects.search(query, n)
        assert [state.subjects.names[i] for i in indices] == ["n1", "n2", "n0"][:n]
        assert cosines.tolist() == pytest.approx([0.9, 0.3, 0.2][:n])
    assert len(state.subjects.search(query, 0)[0]) == 0
    assert len(state_of().subjects.search(query, 5)[0]) == 0


def test_a_memory_scores_its_best_subject_among_the_top_n() -> None:
    state = state_of(
        memory("a", 1), memory("b", 2), memory("c", 3),
        subject("x", 4, "x", ["a", "b"], direction=axis(0)),
        subject("y", 5, "y", ["b"], direction=axis(1)),
        subject("z", 6, "z", ["c"], direction=axis(2)),
    )  # fmt: skip
    query = np.array([0.5, 0.8, 0.1] + [0.0] * (DIM - 3), dtype=np.float32)

    assert state.best_subject_scores(query, 2).tolist() == pytest.approx([0.5, 0.8, 0.0])
    assert state.best_subject_scores(query, 40).tolist() == pytest.approx([0.5, 0.8, 0.1])


def test_links_list_every_pair_of_node_and_live_row() -> None:
    state = state_of(
        memory("a", 1), memory("b", 2), gone("b", 3),
        subject("x", 4, "x", ["a", "b", "never"]), subject("y", 5, "y", ["a", "a"]),
    )  # fmt: skip

    nodes, rows = state.subjects.links()

    assert sorted(zip(nodes.tolist(), rows.tolist(), strict=True)) == [(0, 0), (1, 0)]
    assert sorted(state.subjects.of_memory(state.words(0).memory_id).tolist()) == [0, 1]


def test_relations_are_those_of_the_subjects_that_are_here() -> None:
    relation = Relation(subject="Ada", predicate="plays", object="chess", memory_id="a")
    with_relation = Subject(
        subject_id="s", name="Ada", vector=vector(1), sequence=1, relations=(relation,)
    )
    state = state_of(with_relation)
    assert state.subjects.relations == [relation]

    state.apply(subject_gone("s", 2))

    assert state.subjects.relations == []
