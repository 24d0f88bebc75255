"""The stored form of records, and loading them although one is damaged."""

import logging

import numpy as np
import pytest

from seedmem.memory import Deleted, Kind, Memory, Relation, Subject
from seedmem.text import hash_terms, terms
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


def loaded(page: dict[bytes, bytes]) -> Loader:
    loader = Loader(SPACE)
    loader.add(page)
    return loader


def same(one: object, other: object) -> bool:
    names = type(one).__dataclass_fields__
    return all(np.array_equal(getattr(one, name), getattr(other, name)) for name in names)


@pytest.mark.parametrize("record", [MEMORY, SUBJECT])
def test_a_record_comes_back_as_it_was_stored(record):
    ((back, _),) = loaded({field_of(record): value(record)}).entries()

    assert same(back, record)


def test_stored_terms_come_back_and_need_no_tokenizer():
    hashes = hash_terms(terms(MEMORY.text))

    page = {field_of(MEMORY): value(MEMORY, encode(MEMORY, hashes))}
    ((_, back),) = loaded(page).entries()

    assert back.tolist() == hashes.tolist()


def test_terms_of_another_version_are_made_again(monkeypatch):
    payload = encode(MEMORY, hash_terms(terms(MEMORY.text)))
    monkeypatch.setattr(records, "TERMS_VERSION", records.TERMS_VERSION + 1)

    ((_, back),) = loaded({field_of(MEMORY): value(MEMORY, payload)}).entries()

    assert back is None


def test_tombstones_and_the_counter_are_no_records():
    gone = Deleted(kind=Kind.MEMORY, id="m", sequence=8)

    loader = loaded({field_of(gone): value(gone), SEQUENCE: b"8"})

    assert loader.entries() == []
    assert (loader.sequence, loader.damaged) == (8, 0)


def test_a_subject_without_a_vector_takes_its_names_also_from_a_later_page():
    drafts = [
        Subject(subject_id=id, name=name, vector=NO_VECTOR, sequence=3)
        for id, name in (("a", "red kite"), ("b", "RED   Kite"))
    ]
    loader = loaded({field_of(draft): value(draft) for draft in drafts})

    loader.add({name_field("Red Kite"): value(None, pack(VECTOR))})

    assert [record.vector.tolist() for record, _ in loader.entries()] == [VECTOR.tolist()] * 2


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
        loader = loaded({b"mbad": damaged, field_of(MEMORY): sound})

    assert [record.memory_id for record, _ in loader.entries()] == [MEMORY.memory_id]
    assert loader.damaged == 1
    assert len(caplog.records) == 1
    assert "kite" not in caplog.text


def test_a_vector_of_another_space_is_left_out():
    loader = Loader(VectorSpace("hash:4", 4))

    loader.add({field_of(MEMORY): value(MEMORY)})

    assert (loader.entries(), loader.damaged) == ([], 1)


def test_a_subject_whose_name_has_no_vector_is_left_out():
    draft = Subject(subject_id="a", name="kite", vector=NO_VECTOR, sequence=3)

    loader = loaded({field_of(draft): value(draft)})

    assert (loader.entries(), loader.damaged) == ([], 1)


def test_a_pair_comes_back_as_it_was_stored():
    pair = Pair("where was the kite?", "m1", "rejected", 1_700_000_000.5)

    assert records.decode_pair(records.encode_pair(pair)) == pair
    with pytest.raises(DamagedRecordError, match="5 bytes"):
        records.decode_pair(b"wrong")


def test_names_that_are_equal_share_one_field():
    assert name_field("Red  KITE") == name_field("red kite") == field(NAME, "red kite")
