"""A state against a plain model, under any order of events.

The model keeps the newest record of each id in a dictionary and computes
everything else from scratch.
"""

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from user_records import SPACE, gone, ids, memory, subject, subject_gone, vector

import seedmem.user.dense
import seedmem.user.keyword
import seedmem.user.state
from seedmem.errors import SnapshotError
from seedmem.memory import Kind, Memory, Record, Subject
from seedmem.text import hash_terms, terms
from seedmem.user import UserState
from seedmem.user.keyword import K1, B

WORDS = ("apple", "pear", "plum", "fig", "melon")
NAMES = ("Ada", "ADA", "Chess", "Rome")
QUERIES = [vector(900 + i) for i in range(3)]


@pytest.fixture(autouse=True, scope="module")
def _small_thresholds() -> Iterator[None]:
    """Have a dozen events cross every threshold."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(seedmem.user.state, "_EMPTY_ROWS", 2)
        patch.setattr(seedmem.user.keyword, "_RECENT", 6)
        patch.setattr(seedmem.user.dense, "_FEW", 3)
        patch.setattr(seedmem.user.dense, "_AUDIT_EVERY", 5)
        yield


class Model:
    """What a state must show."""

    def __init__(self) -> None:
        self.newest: dict[tuple[Kind, str], Record] = {}

    def apply(self, record: Record) -> None:
        if isinstance(record, Memory):
            key = Kind.MEMORY, record.memory_id
        elif isinstance(record, Subject):
            key = Kind.SUBJECT, record.subject_id
        else:
            key = record.kind, record.id
        if key not in self.newest or record.sequence > self.newest[key].sequence:
            self.newest[key] = record

    @property
    def memories(self) -> list[Memory]:
        """In the order of their birth."""
        live = [r for r in self.newest.values() if isinstance(r, Memory)]
        return sorted(live, key=lambda m: m.born)

    @property
    def sessions(self) -> dict[str | None, list[Memory]]:
        sessions: dict[str | None, list[Memory]] = {}
        for each in self.memories:
            sessions.setdefault(each.session_id, []).append(each)
        return sessions

    @property
    def nodes(self) -> dict[str, list[Subject]]:
        """Subjects by name without case, oldest first."""
        nodes: dict[str, list[Subject]] = {}
        live = [r for r in self.newest.values() if isinstance(r, Subject)]
        for each in sorted(live, key=lambda s: s.sequence):
            nodes.setdefault(each.name.lower(), []).append(each)
        return nodes

    def linked(self, name: str) -> set[str]:
        here = {m.memory_id for m in self.memories}
        return here & {m for s in self.nodes[name] for m in s.memory_ids}

    def subject_scores(self, query: np.ndarray, n: int) -> dict[str, float]:
        nodes = {name: float(s[-1].vector @ query) for name, s in self.nodes.items()}
        scores: dict[str, float] = {}
        for name in sorted(nodes, key=lambda name: -nodes[name])[:n]:
            for memory_id in self.linked(name):
                scores.setdefault(memory_id, nodes[name])
        return scores


def bm25(texts: dict[str, str], question: Sequence[str]) -> dict[str, float]:
    documents = {memory_id: Counter(terms(text)) for memory_id, text in texts.items()}
    total = sum(sum(d.values()) for d in documents.values())
    scores = {}
    for memory_id, document in documents.items():
        score = 0.0
        for term in question:
            having = sum(term in other for other in documents.values())
            idf = math.log(1 + (len(documents) - having + 0.5) / (having + 0.5))
            if document[term]:
                stretch = 1 - B + B * sum(document.values()) * len(documents) / total
                score += idf * document[term] * (K1 + 1) / (document[term] + K1 * stretch)
        scores[memory_id] = score
    return scores


@st.composite
def histories(draw: st.DrawFn) -> list[Record]:
    """Return what a store accepted, numbered in its order, then delivered in any other."""
    kinds = draw(st.lists(st.sampled_from("mmmmddssx"), max_size=40))
    records: list[Record] = []
    born: dict[str, int] = {}
    for sequence, kind in enumerate(kinds, start=1):
        id_ = f"i{draw(st.integers(0, 7))}"
        if kind == "m":
            born.setdefault(id_, sequence)
            text = " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=4)))
            session = draw(st.sampled_from(["s", "t", None]))
            records.append(memory(id_, sequence, text, born=born[id_], session=session))
        elif kind == "d":
            born.pop(id_, None)
            records.append(gone(id_, sequence))
        elif kind == "s":
            links = draw(st.lists(st.integers(0, 7), max_size=3))
            name = draw(st.sampled_from(NAMES))
            records.append(subject(id_, sequence, name, [f"i{i}" for i in links]))
        else:
            records.append(subject_gone(id_, sequence))
    again = draw(st.lists(st.sampled_from(records), max_size=8)) if records else []
    return draw(st.one_of(st.just(records), st.permutations(records + again)))


def check(state: UserState, model: Model) -> None:
    check_memories(state, model)
    check_dense(state, model)
    check_keyword(state, model)
    check_subjects(state, model)


def check_memories(state: UserState, model: Model) -> None:
    live = [state.memory(int(row)) for row in np.flatnonzero(state.live)]
    assert {m.memory_id: (m.text, m.sequence, m.born, m.session_id) for m in live} == {
        m.memory_id: (m.text, m.sequence, m.born, m.session_id) for m in model.memories
    }
    assert state.size == len(model.memories)
    assert state.rows - state.size <= max(2, state.size // 4)
    for session in model.sessions.values():
        rows = [state.row_of(m.memory_id) for m in session]
        assert [int(state.previous[row]) for row in rows] == [-1, *rows[:-1]]
        assert [int(state.next[row]) for row in rows] == [*rows[1:], -1]


def check_dense(state: UserState, model: Model) -> None:
    for query in QUERIES:
        best = sorted(model.memories, key=lambda m: -float(m.vector @ query))[:5]
        rows, cosines = state.dense.search(query, 5)
        assert ids(state, rows) == [m.memory_id for m in best]
        assert cosines == pytest.approx([float(m.vector @ query) for m in best], abs=1e-5)


def check_keyword(state: UserState, model: Model) -> None:
    question = terms("apple fig fig kiwi")
    hashed = hash_terms(question)
    expected = np.zeros(state.rows)
    for memory_id, score in bm25({m.memory_id: m.text for m in model.memories}, question).items():
        expected[state.row_of(memory_id)] = score
    assert state.keyword.scores(hashed) == pytest.approx(expected, rel=1e-4)


def check_subjects(state: UserState, model: Model) -> None:
    subjects = state.subjects
    assert sorted(subjects.names) == sorted(s[-1].name for s in model.nodes.values())
    for name, same in model.nodes.items():
        index = subjects.find(name)
        assert index is not None
        assert set(ids(state, subjects.rows_of(index))) == model.linked(name)
        assert (subjects.matrix[index] == same[-1].vector).all()
        assert subjects.types[index] == same[-1].type
    nodes, rows = subjects.links()
    pairs = {
        (subjects.names[n].lower(), state.memory(r).memory_id)
        for n, r in zip(nodes, rows, strict=True)
    }
    assert pairs == {(name, m) for name in model.nodes for m in model.linked(name)}
    for query in QUERIES:
        expected = np.zeros(state.rows)
        for memory_id, score in model.subject_scores(query, 2).items():
            expected[state.row_of(memory_id)] = score
        assert state.best_subject_scores(query, 2) == pytest.approx(expected, abs=1e-5)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories(), st.integers(1, 9))
def test_a_state_shows_what_the_model_shows_after_any_events(
    history: list[Record], page: int
) -> None:
    state, model = UserState(SPACE), Model()

    for start in range(0, len(history), page):
        state.load([(record, None) for record in history[start : start + page]])
        for record in history[start : start + page]:
            model.apply(record)
        check(state, model)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(histories())
def test_a_state_with_a_graph_from_the_first_memory_shows_it_too(history: list[Record]) -> None:
    state, model = UserState(SPACE, exact_limit=0), Model()

    for record in history:
        state.apply(record)
        model.apply(record)
        check_dense(state, model)
    check(state, model)

    again = UserState(SPACE, exact_limit=0)
    with suppress(SnapshotError):  # too stale: exact search serves
        again.load([(record, None) for record in history], graph=state.dense.snapshot())
    check(again, model)
