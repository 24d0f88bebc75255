"""F04, F35, F54, F55: what cannot be applied is buried once, with its place and reason."""

import base64
import json
from collections.abc import Iterator
from typing import Any

import pytest
from kafka import KafkaProducer
from reading import everything_in, until

from streams.client import Client
from streams.events import After, Filters
from streams.settings import Settings
from streams.topics import Topics

DIM = 64  # of the shared service's encoder


GONE = object()  # a field that is left out


def memory(user: str, **fields: object) -> bytes:
    """A memory-created event as a careless producer writes it."""
    event = {"user_id": user, "memory_id": "m", "text": "words", **fields}
    return json.dumps({name: value for name, value in event.items() if value is not GONE}).encode()


NOT_JSON = {
    "broken json": (b"{bad", "malformed"),
    "empty": (b"", "malformed"),
    "null": (None, "malformed"),
    "json null": (b"null", "schema"),
    "list": (b"[]", "schema"),
    "string": (b'"str"', "schema"),
    "byte order mark": (b"\xef\xbb\xbf" + memory("u"), "malformed"),
    "invalid utf-8": (b'{"user_id":"u","memory_id":"m","text":"\xff"}', "malformed"),
}
"""Payload, and the reason of its dead letter."""

UNFIT = {
    "missing id": ({"memory_id": GONE}, "schema", "$"),
    "id of wrong type": ({"memory_id": 7}, "schema", "$.memory_id"),
    "empty id": ({"memory_id": ""}, "schema", "$.memory_id"),
    "long id": ({"memory_id": "é" * 129}, "schema", "$.memory_id"),
    "number as text": ({"text": 5}, "schema", "$.text"),
    "null text": ({"text": None}, "schema", "$.text"),
    "empty text": ({"text": ""}, "text", "$.text"),
    "blank text": ({"text": " \t\n "}, "text", "$.text"),
    "zero-width text": ({"text": "\u200b\u200d"}, "text", "$.text"),
    "no text": ({"text": GONE}, "text", "$.text"),
    "fractional version": ({"version": 1.5}, "schema", "$.version"),
    "huge version": ({"version": 2**53}, "schema", "$.version"),
    "time that is none": ({"created_at": "soon"}, "schema", "$.created_at"),
    "words as vector": ({"vector": "no base64!"}, "vector", "$.vector"),
    "nested vector": ({"vector": [[1.0]]}, "schema", "$.vector[0]"),
    "infinite literal": ({"vector": [float("inf")]}, "malformed", "$"),
    "NaN literal": ({"vector": [float("nan")]}, "malformed", "$"),
    "empty vector": ({"vector": []}, "vector", "$.vector"),
    "short vector": ({"vector": [1.0, 2.0]}, "vector", "$.vector"),
    "zero vector": ({"vector": [0.0] * DIM}, "vector", "$.vector"),
    "denormal vector": ({"vector": [1e-38] * DIM}, "vector", "$.vector"),
    "overlong vector": ({"vector": [1e308] * DIM}, "vector", "$.vector"),
    "foreign encoder": ({"vector": [1.0] * DIM, "encoder": "other"}, "space", "$.encoder"),
}
"""Fields of a memory, and the reason and field of its dead letter."""

GOOD = {
    "unknown fields": {"future": {"x": 1}},
    "large vector": {"vector": [1e30] * DIM},
    "lone surrogate": {"text": "half \ud83d a smile"},
    "whole surrogates": {"text": "a \U0001f600 smile"},
    "no spaces": {"text": "x" * 100_000},
    "nul": {"text": "before\x00after"},
    "right to left": {"text": "\u202eשלום עולם\u202c"},
    "han": {"text": "我把钥匙放在抽屉里"},
}


@pytest.fixture(scope="module")
def producer(service: Settings) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(bootstrap_servers=service.kafka, acks="all")
    yield producer
    producer.close()


@pytest.fixture(scope="module")
def client(service: Settings) -> Iterator[Client]:
    with Client(service) as client:
        yield client


def test_f04_every_bad_memory_is_buried_once_and_every_good_one_applied(
    service, producer, client, user
):
    topic = Topics(service.namespace).memory_created
    wanted = {}
    bad = [(payload, reason, "$") for payload, reason in NOT_JSON.values()]
    bad += [(memory(user, **fields), reason, field) for fields, reason, field in UNFIT.values()]
    for number, (payload, reason, field) in enumerate(bad):
        producer.send(topic, memory(user, memory_id=f"good{number}"), user.encode())
        place = producer.send(topic, payload, user.encode()).get(30)
        wanted[topic, place.partition, place.offset] = (reason, field)
    last = client.remember(user, "the last good one").token

    found = client.ask(user, "words", k=1_000, after=last, deadline_ms=20_000)

    assert len(found.hits) == len(bad) + 1
    letters = until(lambda: letters_of(service, user, at_least=len(bad)))
    assert sorted((x["topic"], x["partition"], x["offset"]) for x in letters) == sorted(wanted)
    for letter in letters:
        place = (letter["topic"], letter["partition"], letter["offset"])
        assert (letter["reason"], letter["field"]) == wanted[place], letter["detail"]


def test_f55_every_odd_but_valid_text_is_kept_as_it_was(service, producer, client, user):
    topic = Topics(service.namespace).memory_created
    for number, fields in enumerate(GOOD.values()):
        producer.send(topic, memory(user, memory_id=f"m{number}", **fields), user.encode()).get(30)
    last = client.remember(user, "the last one", memory_id="last").token

    answer = client.ask(user, "words", k=100, after=last, deadline_ms=20_000)

    texts = {hit.memory_id: hit.text for hit in answer.hits}
    wanted = {f"m{n}": str(f.get("text", "words")) for n, f in enumerate(GOOD.values())}
    assert texts == {**wanted, "m2": "half \ufffd a smile", "last": "the last one"}


def test_f55_half_a_character_in_an_id_or_a_name_is_replaced_and_the_user_goes_on(
    service, producer, client, user
):
    topics, whole = Topics(service.namespace), f"{user}\ufffd"
    told = memory(f"{user}\ud83d", memory_id="m\ude00", text="the words")
    producer.send(topics.memory_created, told, whole.encode()).get(30)
    about = {
        "user_id": f"{user}\ud83d", "subject_id": "s\ud83d", "name": "Zoe\u0308 \ud83d",
        "memory_ids": ["m\ude00"],
    }  # fmt: skip
    place = producer.send(topics.subject_extracted, json.dumps(about).encode(), whole.encode())
    last = After(topic=topics.subject_extracted, partition=place.get(30).partition,
                 offset=place.get(30).offset)  # fmt: skip

    answer = client.ask(
        whole,
        "words",
        after=last,
        filters=Filters(subjects=["zo\u00eb \ufffd"]),
        deadline_ms=20_000,
    )

    assert [(hit.memory_id, hit.text) for hit in answer.hits] == [("m\ufffd", "the words")]


@pytest.mark.parametrize("key", [None, b"someone else"])
def test_an_event_whose_key_is_not_its_user_is_buried(service, producer, user, key):
    topic = Topics(service.namespace).memory_created

    place = producer.send(topic, memory(user), key, partition=0).get(30)

    [letter] = until(
        lambda: [
            letter
            for letter in everything_in(service, Topics(service.namespace).dead_letter)
            if (letter["topic"], letter["partition"], letter["offset"]) == (topic, 0, place.offset)
        ]
    )
    assert (letter["reason"], letter["field"]) == ("key", "$.user_id")


def test_a_huge_key_and_value_are_buried_without_their_bytes(service, producer, client, user):
    topic = Topics(service.namespace).memory_created
    key = (user + "k" * 400_000).encode()

    place = producer.send(topic, b"x" * 500_000, key, partition=0).get(30)

    def letters() -> list[dict[str, Any]]:
        letters = everything_in(service, Topics(service.namespace).dead_letter)
        return [x for x in letters if (x["partition"], x["offset"]) == (0, place.offset)]

    [letter] = until(letters)
    assert (letter["reason"], len(letter["key"])) == ("malformed", 1_368)  # 1,024 bytes in base64


def test_an_event_on_a_foreign_partition_is_buried_and_changes_nothing(
    service, producer, client, user
):
    topic = Topics(service.namespace).memory_created
    token = client.forget(user, "m")
    elsewhere = (token.partition + 1) % 4

    place = producer.send(topic, memory(user), user.encode(), partition=elsewhere).get(30)

    [letter] = until(lambda: letters_of(service, user, at_least=1))
    assert (letter["reason"], letter["partition"], letter["offset"]) == (
        "partition",
        elsewhere,
        place.offset,
    )
    assert client.ask(user, "words", after=token).hits == []


def letters_of(service: Settings, user: str, *, at_least: int) -> list[dict[str, Any]]:
    key = base64.b64encode(user.encode()).decode()
    letters = everything_in(service, Topics(service.namespace).dead_letter)
    mine = [letter for letter in letters if letter["key"] == key]
    return mine if len(mine) >= at_least else []
