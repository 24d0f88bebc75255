"""F32: deleted, deleted again, never there, brought back: all of it over Kafka and Redis."""

import base64

import numpy as np
import pytest
from reading import everything_in

from seedmem.vectors import to_wire
from streams.client import Client
from streams.events import MemoryCreated, Status
from streams.topics import Topics

DIM = 64  # of the shared service's encoder

LIFE = [  # (memory, its text or None for a deletion), and what is then there
    (("x", "the first secret"), {"the first secret"}),
    (("x", None), set()),
    (("x", None), set()),
    (("never", None), set()),
    (("x", "back with new words"), {"back with new words"}),
    (("y", "a neighbour"), {"back with new words", "a neighbour"}),
    (("x", "and changed"), {"and changed", "a neighbour"}),
    (("x", None), {"a neighbour"}),
    (("x", None), {"a neighbour"}),
]


def events(user: str, *, versioned: bool) -> list[MemoryCreated]:
    chance = np.random.default_rng(32)
    return [
        MemoryCreated(
            user_id=user, memory_id=id, text=text or "", deleted=text is None,
            vector=to_wire(chance.normal(size=DIM)) if text else None,
            version=number if versioned else None,
        )
        for number, ((id, text), _) in enumerate(LIFE)
    ]  # fmt: skip


@pytest.mark.parametrize("versioned", [False, True])
def test_f32_the_newest_event_says_what_is_there_and_a_replay_changes_nothing(
    service, user, versioned
):
    told = events(user, versioned=versioned)

    with Client(service) as client:

        def texts(after):
            answer = client.ask(user, "secret words", k=100, after=after, deadline_ms=20_000)
            assert answer.status is Status.OK
            return {hit.text for hit in answer.hits}

        seen = [texts(client.send(event)) for event in told]
        again = texts(client.send_all(told)[-1])

    assert seen == [there for _, there in LIFE]
    assert again == {"a neighbour"}
    letters = everything_in(service, Topics(service.namespace).dead_letter)
    assert base64.b64encode(user.encode()).decode() not in {letter["key"] for letter in letters}


def test_f32_deletions_that_come_before_their_memory_keep_it_out(service, user):
    with Client(service) as client:
        client.forget(user, "x", version=5)
        client.forget(user, "x", version=3)
        last = client.remember(user, "too late", memory_id="x", version=4).token

        assert client.ask(user, "too late", after=last, deadline_ms=20_000).hits == []

        last = client.remember(user, "newer", memory_id="x", version=6).token
        hits = client.ask(user, "newer", after=last, deadline_ms=20_000).hits
        assert [hit.text for hit in hits] == ["newer"]
