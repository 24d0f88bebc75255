"""F59: what a user who has as many records as may be can still do, and what becomes of the rest."""

import base64

import msgspec
import pytest
from reading import everything_in

from streams.client import Client
from streams.settings import Settings
from streams.store import FULL, MEMORY, NAME, PAIR, SUBJECT, TOMBSTONE, Write, connect, field
from streams.topics import Topics


def write(kind: bytes, id: str, arrival: int, payload: bytes = b"x", user: str = "ada") -> Write:
    return Write(user, field(kind, id), None, arrival, payload)


@pytest.fixture
async def narrow(store_settings: Settings):
    """A store with room for three records of each user."""
    store = await connect(msgspec.structs.replace(store_settings, user_records=3), "hash:8/8")
    yield store
    await store.close()


async def test_only_a_new_memory_or_subject_needs_room(narrow):
    await narrow.put([write(MEMORY, "a", 1), write(MEMORY, "b", 2), write(SUBJECT, "a", 3)])

    refused = await narrow.put([write(MEMORY, "c", 4), write(SUBJECT, "c", 5)])
    taken = await narrow.put(
        [
            write(MEMORY, "a", 6, b"changed"),
            write(MEMORY, "b", 7, TOMBSTONE),
            write(MEMORY, "b", 8, b"back"),
            write(MEMORY, "never here", 9, TOMBSTONE),
            write(NAME, "n", 10),
            write(PAIR, "p", 11),
        ]
    )

    assert refused == [FULL, FULL]
    assert None not in taken
    assert FULL not in taken
    assert await narrow.get_many("ada", [field(MEMORY, "c"), field(SUBJECT, "c")]) == [None, None]


async def test_one_batch_fills_a_user_and_leaves_another_alone(narrow):
    writes = [write(MEMORY, f"m{n}", n, user=user) for n in range(5) for user in ("ada", "bob")]
    one = write(MEMORY, "m", 10, user="carl")

    placed = await narrow.put([*writes, one])

    assert [place is FULL for place in placed] == 6 * [False] + 4 * [True] + [False]
    assert await narrow.put(writes) == placed[:-1]  # a repeated call: the same places


async def test_an_erased_user_has_room_again(narrow):
    await narrow.put([write(MEMORY, f"m{n}", n) for n in range(4)])

    await narrow.erase("ada", {MEMORY: 3})

    assert await narrow.put([write(MEMORY, "m3", 4)]) != [FULL]


async def test_no_limit_is_no_limit(store):
    placed = await store.put([write(MEMORY, f"m{n}", n) for n in range(100)])

    assert FULL not in placed


def test_what_finds_no_room_is_a_dead_letter_and_the_rest_of_the_batch_is_applied(
    settings, workers
):
    workers(user_records=3)
    with Client(settings) as client:
        for n in range(6):
            client.remember("ada", f"walnut {n}", memory_id=f"m{n}")
        client.remember("bob", "walnut 0")
        told = client.remember("bob", "walnut 1").token
        client.remember("ada", "walnut, corrected", memory_id="m0")
        last = client.forget("ada", "m1")

        answer = client.ask("ada", "walnut", k=10, after=last, deadline_ms=20_000)
        other = client.ask("bob", "walnut", k=10, after=told, deadline_ms=20_000)

    said = {hit.memory_id: hit.text for hit in answer.hits}
    assert said == {"m0": "walnut, corrected", "m2": "walnut 2"}
    assert len(other.hits) == 2
    letters = everything_in(settings, Topics(settings.namespace).dead_letter)
    assert [letter["reason"] for letter in letters] == 3 * ["full"]
    ids = [
        msgspec.json.decode(base64.b64decode(letter["value"]))["memory_id"] for letter in letters
    ]
    assert ids == ["m3", "m4", "m5"]
