"""What comes back from ``retrieve``: order, parts, filters, and users of every odd kind."""

import numpy as np
import pytest
from retrieve_records import DIM, SPACE, memory, random_unit, state_of, talk

from seedmem.adapt import Adapter
from seedmem.errors import ShapeError
from seedmem.memory import Subject
from seedmem.retrieve import Query, Weights, retrieve, shipped
from seedmem.user import UserState


def ids(answer):
    return [hit.memory_id for hit in answer.hits]


def test_the_parts_of_every_hit_add_up_to_its_score():
    state = talk([f"Ada: the cat of day {n} ate fish?" for n in range(30)])

    answer = retrieve(state, Query(text="When did the cat eat?", vector=random_unit(99), k=30))

    assert len(answer.hits) == 30
    for hit in answer.hits:
        assert sum(hit.parts.values()) == pytest.approx(hit.score, abs=1e-5)
        assert hit.tier == max(hit.parts, key=hit.parts.__getitem__)


def test_hits_come_best_first_and_k_only_cuts_them():
    state = talk([f"note {n} about tea" for n in range(40)])
    query = {"text": "what tea?", "vector": random_unit(7)}

    every = retrieve(state, Query(**query, k=100))
    three = retrieve(state, Query(**query, k=3))

    assert [h.score for h in every.hits] == sorted((h.score for h in every.hits), reverse=True)
    assert ids(three) == ids(every)[:3]
    assert len(every.hits) == 40


def test_dense_alone_ranks_as_brute_force_does():
    state = talk([f"note {n}" for n in range(50)])
    query = random_unit(123)

    answer = retrieve(state, Query(vector=query, k=50), weights=Weights(lookup={"dense": 1.0}))

    cosines = {f"m{n}": float(random_unit(n) @ query) for n in range(50)}
    assert ids(answer) == sorted(cosines, key=cosines.__getitem__, reverse=True)


def test_a_user_without_memories_gets_no_hits_and_abstains():
    answer = retrieve(UserState(SPACE), Query(text="anything?", vector=random_unit(1)))

    assert (answer.hits, answer.confidence, answer.abstained) == ((), 0.0, True)


def test_one_memory_is_found_by_any_question():
    state = talk(["I like tea"])

    answer = retrieve(state, Query(text="who am I?", vector=random_unit(2)))

    assert ids(answer) == ["m0"]
    assert np.isfinite(answer.hits[0].score)


def test_identical_memories_come_in_the_order_of_their_birth():
    same = random_unit(5)
    state = state_of(*(memory(n, "tea", vector=same, session=f"s{n}") for n in range(6)))

    answer = retrieve(state, Query(text="tea", vector=same, k=4))

    assert ids(answer) == ["m0", "m1", "m2", "m3"]


@pytest.mark.parametrize("text", ["猫はどこですか", "где кот?", "🙂", "…", "a", "the of and"])
def test_questions_in_any_script_are_answered(text):
    state = talk(["猫は庭にいます", "кот спит", "the cat sleeps"])

    answer = retrieve(state, Query(text=text, vector=random_unit(3)))

    assert sorted(ids(answer)) == ["m0", "m1", "m2"]
    assert all(np.isfinite(hit.score) for hit in answer.hits)
    assert 0.0 <= answer.confidence <= 1.0


def test_keywords_of_a_script_without_spaces_find():
    notes = ["猫は庭にいます", "犬は家にいます", "車は青いです"]
    state = state_of(*(memory(n, text, session=None) for n, text in enumerate(notes)))

    answer = retrieve(state, Query(text="猫はどこですか", k=1))

    assert ids(answer) == ["m0"]


def test_keywords_answer_alone_without_a_vector_and_meaning_without_a_text():
    notes = ["blue bicycle", "red car", "green boat"]
    state = state_of(*(memory(n, text, session=None) for n, text in enumerate(notes)))

    assert ids(retrieve(state, Query(text="the car", k=1))) == ["m1"]
    assert ids(retrieve(state, Query(vector=random_unit(2), k=1))) == ["m2"]


def test_a_query_without_text_and_vector_is_refused():
    with pytest.raises(ValueError, match="needs a text or a vector"):
        Query()


def test_a_query_for_no_hits_is_refused():
    with pytest.raises(ValueError, match="k must be at least 1, got 0"):
        Query(text="x", k=0)


def test_a_vector_of_another_length_is_refused():
    with pytest.raises(ShapeError, match=r"got shape \(3,\), want \(16,\)"):
        retrieve(talk(["x"]), Query(vector=np.ones(3, dtype=np.float32)))


def test_filters_hide_what_they_exclude():
    day = 86_400.0
    tea = Subject(
        subject_id="s", name="Green Tea", vector=random_unit(50), sequence=9, memory_ids=("m1",)
    )
    state = state_of(
        memory(0, "first", at=1 * day, session="a"),
        memory(1, "second", at=2 * day, session="b"),
        memory(2, "third", at=3 * day, session="b"),
        memory(3, "timeless", session="c"),
        tea,
    )

    def found(**filters):
        return sorted(ids(retrieve(state, Query(vector=random_unit(8), **filters))))

    assert found(sessions=("b",)) == ["m1", "m2"]
    assert found(sessions=("nowhere",)) == []
    assert found(since=2 * day) == ["m1", "m2"]
    assert found(until=2 * day) == ["m0"]
    assert found(subjects=("  GREEN tea ",)) == ["m1"]
    assert found(subjects=("unknown",)) == []
    assert found(as_of=2 * day) == ["m0", "m1", "m3"]
    assert found(sessions=("b",), until=3 * day) == ["m1"]


def test_memories_of_the_future_change_no_score():
    day = 86_400.0
    past = [memory(n, f"tea of day {n}", at=n * day) for n in range(5)]
    future = [memory(n, "tea tea coffee", at=n * day) for n in range(5, 20)]
    query = Query(text="tea or coffee?", vector=random_unit(70), as_of=4.5 * day)

    with_future = retrieve(state_of(*past, *future), query)
    without = retrieve(state_of(*past), query)

    assert ids(with_future) == ids(without)
    assert [h.score for h in with_future.hits] == pytest.approx([h.score for h in without.hits])


def test_an_adapter_bends_the_query_first():
    identity = Adapter.identity(SPACE)
    turned = Adapter(
        space=SPACE,
        version=1,
        alpha=1.0,
        w1=np.zeros((1, DIM), np.float32),
        b1=np.zeros(1, np.float32),
        w2=np.zeros((DIM, 1), np.float32),
        b2=(100 * random_unit(4)).astype(np.float32),
    )
    state = state_of(*(memory(n, "x", session=f"s{n}") for n in range(9)))
    query = Query(vector=random_unit(7), k=1)

    assert ids(retrieve(state, query, adapter=identity)) == ["m7"]
    assert ids(retrieve(state, query, adapter=turned)) == ["m4"]


def test_association_looks_at_meaning_alone():
    assert shipped().association.keys() == {"dense"}


def test_a_graph_finds_what_exact_search_finds():
    many = [memory(n, f"note {n} on subject{n % 7}", session=f"s{n // 20}") for n in range(1500)]
    exact, graph = state_of(*many), state_of(*many, exact_limit=100)
    build = graph.dense.plan_build()
    build.run()
    assert graph.dense.adopt(build)

    found = total = 0
    for seed in range(40):
        query = Query(text=f"what about subject{seed % 7}?", vector=random_unit(5000 + seed))
        wanted = set(ids(retrieve(exact, query)))
        found += len(wanted & set(ids(retrieve(graph, query))))
        total += len(wanted)

    assert graph.dense.kind == "hnsw"
    assert found / total >= 0.99
