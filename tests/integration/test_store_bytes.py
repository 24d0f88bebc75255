"""F43: the store keeps bytes. Names of any script and raw vectors come back as they were."""

import numpy as np
import pytest

from seedmem.memory import Memory, Subject
from seedmem.user import UserState
from seedmem.vectors import VectorSpace, unit_rows
from streams.loader import Loader
from streams.records import encode, field_of
from streams.store import MEMORY, SEQUENCE, RecordStore, Stored, Write, field, parse

SPACE = VectorSpace("hash:8", 8)
ROWS = unit_rows(np.random.default_rng(43).normal(size=(40, 8)))
NAMES = [
    "plain", "", " ", "two  words", "Zo\u00eb", "Zoe\u0308", "\u65e5\u672c\u8a9e",
    "\u05e9\u05dc\u05d5\u05dd", "\u202eabc\u202c", "\u0e20\u0e32\u0e29\u0e32",
    "\U0001f469\u200d\U0001f469\u200d\U0001f467", "\U0001f1ee\U0001f1f9", "\u200b", "\ufeff",
    "nul\x00inside", "line\nbreak", "\x85", "\ufffd", "\uffff", "\U0010ffff",
    "\u0130\u0131\u00df", "#sequence",
]  # fmt: skip


async def everything(store: RecordStore, user_id: str) -> dict[bytes, Stored]:
    return {
        name: parse(value)
        async for page in store.read(user_id)
        for name, value in page.items()
        if name != SEQUENCE
    }


def memory(id: str, payload: bytes) -> Write:
    return Write("ada", field(MEMORY, id), None, 1, payload)


async def test_f43_ids_and_payloads_are_any_bytes(store):
    ids = ["", "a b", "nul\x00", "\U0001f468\u200d\U0001f469", "\u202eabc", "日本", "#sequence"]
    payloads = [
        bytes(range(256)),
        b" ",
        b"1 2 3 4 ",
        b"\x00",
        b"\r\n$5\r\n",
        b"\xff" * 70_000,
        b"-",
    ]
    writes = [memory(id, raw) for id, raw in zip(ids, payloads, strict=True)]

    await store.put(writes)

    stored = await everything(store, "ada")
    assert {name: value.payload for name, value in stored.items()} == {
        write.field: write.payload for write in writes
    }
    assert await store.get_many("ada", list(stored)) == list(stored.values())


async def test_f43_raw_float32_and_names_of_every_script_are_read_back_identical(store):
    chance = np.random.default_rng(43)
    blobs = [chance.normal(size=384).astype("<f4").tobytes() for _ in range(50)]
    blobs += [np.full(384, number, "<f4").tobytes() for number in (0, 1, -1, np.nan, np.inf)]
    writes = [memory(f"{name}{n}", blob) for n, blob in enumerate(blobs) for name in NAMES]

    await store.put(writes)

    stored = await everything(store, "ada")
    assert {name: value.payload for name, value in stored.items()} == {
        write.field: write.payload for write in writes
    }


@pytest.mark.parametrize("name", NAMES)
async def test_f43_a_subject_and_a_memory_are_loaded_as_they_were_told(store, name):
    told = Memory(
        memory_id=f"m{name}", text=name, vector=ROWS[0], sequence=1, born=1, session_id=name,
        role=name, metadata={name: name},
    )  # fmt: skip
    about = Subject(
        subject_id=f"s{name}", name=name, vector=ROWS[1], sequence=2, memory_ids=(told.memory_id,)
    )
    await store.put([Write("ada", field_of(one), None, 1, encode(one)) for one in (told, about)])

    loader, state = Loader(SPACE), UserState(SPACE)
    async for page in store.read("ada"):
        loader.add(page)
    loader.fill(state)

    found = state.memory(0)
    assert (found.memory_id, found.text, found.session_id, found.role, dict(found.metadata)) == (
        f"m{name}", name, name, name, {name: name},
    )  # fmt: skip
    assert state.subjects.names == [name]
    assert state.subjects.rows_of(0).tolist() == [0]
    assert loader.damaged == 0
