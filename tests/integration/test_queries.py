"""F19: every question ends in exactly one reply, whatever is wrong with it."""

import base64
import json
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from kafka import KafkaProducer
from reading import everything_in, until

from streams.client import Client
from streams.events import After, Status
from streams.settings import Settings
from streams.topics import Topics

DIM = 64  # of the shared service's encoder


@pytest.fixture(scope="module")
def client(service: Settings) -> Iterator[Client]:
    with Client(service) as client:
        yield client


@pytest.fixture(scope="module")
def producer(service: Settings) -> Iterator[KafkaProducer]:
    producer = KafkaProducer(bootstrap_servers=service.kafka, acks="all")
    yield producer
    producer.close()


def replies_to(service: Settings, request_id: str) -> list[dict[str, Any]]:
    replies = everything_in(service, Topics(service.namespace).query_reply)
    return [reply for reply in replies if reply["request_id"] == request_id]


WRONG = {
    "no text and no vector": ({}, "$.text"),
    "blank text": ({"text": " \u200b "}, "$.text"),
    "k of zero": ({"text": "t", "k": 0}, "$.k"),
    "unknown mode": ({"text": "t", "mode": "guess"}, "$.mode"),
    "zero vector": ({"vector": [0.0] * DIM}, "$.vector"),
    "short vector": ({"vector": [1.0]}, "$.vector"),
    "foreign encoder": ({"vector": [1.0] * DIM, "encoder": "other"}, "$.encoder"),
    "unlisted reply topic": ({"text": "t", "reply_topic": "elsewhere"}, "$.reply_topic"),
    "reply partition that is none": ({"text": "t", "reply_partition": 99}, "$.reply_partition"),
    "time that is none": ({"text": "t", "as_of": "soon"}, "$.as_of"),
    "deadline of zero": ({"text": "t", "deadline_ms": 0}, "$.deadline_ms"),
}


@pytest.mark.parametrize(("fields", "pointer"), WRONG.values(), ids=WRONG.keys())
def test_a_wrong_question_gets_one_reply_that_points_at_the_fault(
    service, producer, user, fields, pointer
):
    request_id = uuid.uuid4().hex
    question = {"user_id": user, "request_id": request_id, **fields}

    producer.send(Topics(service.namespace).query, json.dumps(question).encode(), user.encode())

    [reply] = until(lambda: replies_to(service, request_id))
    assert reply["status"] == "invalid"
    assert f"at {pointer}" in reply["reason"]


def test_a_question_of_one_user_under_anothers_key_is_invalid(service, producer, client, user):
    client.remember(user, "a secret")
    request_id = uuid.uuid4().hex
    question = {"user_id": user, "request_id": request_id, "text": "secret"}

    producer.send(Topics(service.namespace).query, json.dumps(question).encode(), b"mallory")

    [reply] = until(lambda: replies_to(service, request_id))
    assert (reply["status"], reply["hits"]) == ("invalid", [])


def test_a_question_sent_twice_gets_two_equal_answers(service, producer, client, user):
    client.remember(user, "the plumber comes on Friday")
    request_id = uuid.uuid4().hex
    question = {"user_id": user, "request_id": request_id, "text": "plumber"}

    for _ in range(2):
        producer.send(Topics(service.namespace).query, json.dumps(question).encode(), user.encode())

    until(lambda: len(replies_to(service, request_id)) == 2)
    first, second = replies_to(service, request_id)
    assert {**first, "took_ms": 0} == {**second, "took_ms": 0}


def test_more_hits_than_there_are_memories_is_no_error(client, user):
    client.remember(user, "one")
    token = client.remember(user, "two").token

    answer = client.ask(user, "one", k=1_000_000, after=token)

    assert (answer.status, len(answer.hits)) == (Status.OK, 2)


def test_hits_that_do_not_fit_one_message_are_cut_and_said_to_be(client, user):
    vector = np.ones(DIM)
    for number in range(30):
        token = client.remember(user, f"n{number} " + "long" * 25_000, vector=vector).token

    answer = client.ask(user, vector=vector, k=30, after=token, deadline_ms=20_000)

    assert (answer.status, answer.missing) == (Status.PARTIAL, ["hits"])
    assert 0 < len(answer.hits) < 30


def test_a_vector_alone_finds_the_memory_it_belongs_to(client, user):
    ones, other = np.ones(DIM), np.arange(DIM) - 20.0
    client.remember(user, "first", memory_id="first", vector=ones)
    token = client.remember(user, "second", memory_id="second", vector=other).token

    answer = client.ask(user, vector=other, after=token)

    assert answer.hits[0].memory_id == "second"


def test_a_vector_in_base64_is_the_same_as_numbers(service, producer, client, user):
    numbers = np.arange(DIM, dtype="<f4") + 1
    event = {"user_id": user, "memory_id": "m", "text": "t", "vector": numbers.tolist()}
    topic = Topics(service.namespace).memory_created
    producer.send(topic, json.dumps(event).encode(), user.encode()).get(30)
    wire = base64.b64encode(numbers.tobytes()).decode()
    event |= {"memory_id": "n", "vector": wire}
    place = producer.send(topic, json.dumps(event).encode(), user.encode()).get(30)

    token = After(topic=topic, partition=place.partition, offset=place.offset)
    first, second = client.ask(user, vector=numbers, after=token).hits

    assert first.score == pytest.approx(second.score)


def test_a_token_that_is_never_reached_gets_not_ready_within_the_deadline(client, user):
    token = client.remember(user, "here").token
    future = After(topic=token.topic, partition=token.partition, offset=token.offset + 10**9)

    answer = client.ask(user, "here", after=future, deadline_ms=500)

    assert answer.status is Status.NOT_READY
    assert "deadline passed while waiting for" in (answer.reason or "")
    assert answer.took_ms < 500


def test_a_token_of_another_users_partition_is_invalid(client, user):
    token = client.remember(user, "here").token
    elsewhere = After(topic=token.topic, partition=(token.partition + 1) % 4, offset=0)

    answer = client.ask(user, "here", after=elsewhere)

    assert answer.status is Status.INVALID


def test_explain_tells_where_the_time_went(client, user):
    token = client.remember(user, "here").token

    answer = client.ask(user, "here", after=token, explain=True)

    assert set(answer.timings or {}) == {"load_ms", "search_ms"}
    assert client.ask(user, "here").timings is None


def test_association_finds_memories_too(client, user):
    token = client.remember(user, "I stopped drinking coffee").token

    answer = client.ask(user, "I stopped sleeping", mode="association", after=token)

    assert [hit.text for hit in answer.hits] == ["I stopped drinking coffee"]
