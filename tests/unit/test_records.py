"""The stored form of records, and loading them although one is damaged."""

import logging
from dataclasses import replace

import numpy as np
import pytest

from seedmem.memory import Deleted, Kind, Memory, Relation, Subject
from seedmem.text import hash_terms, terms
from seedmem.user import UserState
from seedmem.vectors import VectorSpace, pack, unpack
from streams import records
from streams.errors import DamagedRecordError
from streams.loader import Loader
from streams.records import NO_VECTOR, Pair, encode, field_of, name_field
from streams.store import NAME, SEQUENCE, field

SPACE = VectorSpace("hash:3", 3)
VECTOR = unpack(pack(np.array([0.6, 0.0, 0.8], dtype=np.float32)), 3)  # as stored
MEMORY = Memory(
    memory_id="m\x00é",
    text="Ada: I took the red kite to Brighton",
    vector=VECTOR,
    sequence=3,
    born=2,
    created_at=1_700_000_000.25,
    session_id="s1",
    role="ada",
    metadata={"place": "Brighton"},
)
SUBJECT = Subject(
    subject_id="s",
    name="Red  Kite",
    vector=VECTOR,
    sequence=3,
    type="thing",
    memory_ids=("m1", "m2"),
    relations=(
        Relation(
            subject="kite", predicate="was in", object="Brighton", memory_id="m1",
            pseudo_queries=("where was the kite",),
        ),
    ),
)  # fmt: skip


def value(record: object, payload: bytes | None = None) -> bytes:
    return b"- 9 3 2 " + (encode(record) if payload is None else payload)


def loaded(*pages: dict[bytes, bytes], space: VectorSpace = SPACE) -> tuple[UserState, Loader]:
    loader, state = Loader(space), UserState(space)
    for page in pages:
        loader.add(page)
    loader.fill(state)
    return state, loader


def same(one: object, other: object) -> bool:
    names = type(one).__dataclass_fields__
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


def test_a_memory_comes_back_as_it_was_stored():
    state, _ = loaded({field_of(MEMORY): value(MEMORY)})

    assert same(state.memory(0), MEMORY)


def test_a_subject_comes_back_as_it_was_stored():
    state, _ = loaded({field_of(SUBJECT): value(SUBJECT)})

    subjects = state.subjects
    assert (subjects.names, subjects.types, subjects.pending) == (["Red  Kite"], ["thing"], 2)
    assert subjects.relations == list(SUBJECT.relations)
    assert subjects.sequence_of("s") == 3
    assert subjects.matrix.tolist() == [VECTOR.tolist()]


def test_stored_terms_come_back_and_need_no_tokenizer():
    other = hash_terms(["brighton", "brighton", "sea"])  # not what the text has

    state, _ = loaded({field_of(MEMORY): value(MEMORY, encode(MEMORY, other))})

    assert state.length.tolist() == [3]
    assert state.keyword.scores(hash_terms(["sea"])).tolist() != [0.0]


def test_terms_of_another_version_are_made_again(monkeypatch):
    payload = encode(MEMORY, hash_terms(["sea"]))
    monkeypatch.setattr(records, "TERMS_VERSION", records.TERMS_VERSION + 1)

    state, _ = loaded({field_of(MEMORY): value(MEMORY, payload)})

    assert state.length.tolist() == [len(terms(MEMORY.text))]
    assert state.keyword.scores(hash_terms(["sea"])).tolist() == [0.0]


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_of_a_memory_on_two_pages_the_newer_counts(order):
    newer = replace(MEMORY, text="newer")
    pages = [{field_of(MEMORY): value(MEMORY)}, {field_of(newer): b"- 9 4 2 " + encode(newer)}]

    state, _ = loaded(*(pages[at] for at in order))

    assert (state.size, state.memory(state.row_of(MEMORY.memory_id)).text) == (1, "newer")


def test_tombstones_and_the_counter_are_no_records():
    gone = Deleted(kind=Kind.MEMORY, id="m", sequence=8)

    state, loader = loaded({field_of(gone): value(gone), SEQUENCE: b"8"})

    assert (state.size, loader.count) == (0, 0)
    assert (loader.sequence, loader.damaged) == (8, 0)


def test_a_subject_without_a_vector_takes_its_names_also_from_a_later_page():
    drafts = [
        Subject(subject_id=id, name=name, vector=NO_VECTOR, sequence=3)
        for id, name in (("a", "red kite"), ("b", "RED   Kite"))
    ]
    page = {field_of(draft): value(draft) for draft in drafts}
    state, loader = loaded(page, {name_field("Red Kite"): value(None, pack(VECTOR))})

    assert state.subjects.matrix.tolist() == [VECTOR.tolist()]  # of equal names: one node
    assert (loader.count, loader.damaged) == (2, 0)


@pytest.mark.parametrize(
    "damaged",
    [
        b"",
        b"no header",
        b"- 1 x 3 payload",
        value(MEMORY)[:-1],
        value(MEMORY) + b"x",
        value(MEMORY).replace(b"Ada", b"\xff\xff\xff"),
        value(SUBJECT),
        value(None, b"\x93\x01\x02\x03"),
        value(None, encode(MEMORY).replace(pack(VECTOR), b"\x00" * 6)),
        value(None, encode(MEMORY).replace(pack(VECTOR), b"\xff" * 6)),  # NaN
    ],
)
def test_a_damaged_record_is_left_out_alone_and_its_text_is_not_logged(damaged, caplog):
    sound = value(MEMORY)

    with caplog.at_level(logging.ERROR):
        state, loader = loaded({b"mbad": damaged, field_of(MEMORY): sound})

    assert (state.size, state.row_of(MEMORY.memory_id)) == (1, 0)
    assert loader.damaged == 1
    assert len(caplog.records) == 1
    assert "kite" not in caplog.text


def test_a_vector_of_another_space_is_left_out():
    state, loader = loaded({field_of(MEMORY): value(MEMORY)}, space=VectorSpace("hash:4", 4))

    assert (state.size, loader.damaged) == (0, 1)


def test_a_subject_whose_name_has_no_vector_is_left_out():
    draft = Subject(subject_id="a", name="kite", vector=NO_VECTOR, sequence=3)

    state, loader = loaded({field_of(draft): value(draft)})

    assert (len(state.subjects), loader.damaged) == (0, 1)


def test_a_pair_comes_back_as_it_was_stored():
    pair = Pair("where was the kite?", "m1", "rejected", 1_700_000_000.5)

    assert records.decode_pair(records.encode_pair(pair)) == pair
    with pytest.raises(DamagedRecordError, match="5 bytes"):
        records.decode_pair(b"wrong")


def test_names_that_are_equal_share_one_field():
    assert name_field("Red  KITE") == name_field("red kite") == field(NAME, "red kite")
