"""F19: every request ends in exactly one reply, with its own id and a status."""

import json
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor

import pytest
from kafka import KafkaProducer
from scenarios.stage import until

from streams.archive import read_all
from streams.client import Client
from streams.events import MemoryCreated, QueryReply, Status
from streams.wire import decode, key_of

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

# What is asked, beside "request_id" and "user_id", and the status it ends with.
QUESTIONS = {
    "plain": ({"text": "what leaks?"}, Status.OK),
    "nobody": ({"text": "what leaks?", "user_id": "nobody"}, Status.OK),
    "k-zero": ({"text": "what leaks?", "k": 0}, Status.INVALID),
    "k-million": ({"text": "what leaks?", "k": 1_000_000}, Status.OK),
    "k-word": ({"text": "what leaks?", "k": "ten"}, Status.INVALID),
    "nothing-asked": ({}, Status.INVALID),
    "blank": ({"text": "\u200b "}, Status.INVALID),
    "short-vector": ({"vector": [1.0, 2.0]}, Status.INVALID),
    "zero-vector": ({"vector": [0.0] * 64}, Status.INVALID),
    "other-space": ({"vector": [1.0] * 64, "encoder": "other"}, Status.INVALID),
    "no-such-topic": ({"text": "what leaks?", "reply_topic": "nowhere"}, Status.INVALID),
    "no-such-partition": ({"text": "what leaks?", "reply_partition": 99}, Status.INVALID),
    "handler-fails": ({"text": "BREAK"}, Status.FAILED),
    "requester-gone": ({"text": "what leaks?", "reply_partition": 3}, Status.OK),
    "deadline-1-ms": ({"text": "what leaks?", "deadline_ms": 1}, None),  # any, but one
    "bad-time": ({"text": "what leaks?", "as_of": "yesterday"}, Status.INVALID),
    "waits-for-nothing": (
        {"text": "what leaks?", "after": {"topic": "t", "partition": 0, "offset": 0}},
        Status.INVALID,
    ),
}


def replies_by_request(stage):
    found = defaultdict(list)
    for record in read_all(stage.settings, stage.topics.query_reply):
        reply = decode(record.value, QueryReply)
        found[reply.request_id].append(reply)
    return found


def ask_raw(stage, request_id, fields):
    event = {"request_id": request_id, "user_id": "ada"} | fields
    producer = KafkaProducer(bootstrap_servers=stage.settings.kafka, acks="all")
    payload, key = json.dumps(event).encode(), key_of(event["user_id"])
    producer.send(stage.topics.query, payload, key=key).get(10)
    producer.close()


def test_f19_every_request_has_exactly_one_reply_and_a_status(stage, faulty, showed):
    faulty()
    stage.play([MemoryCreated(user_id="ada", memory_id="m", text="the tap leaks")])
    stage.settle()

    for name, (fields, _) in QUESTIONS.items():
        ask_raw(stage, name, fields)
    ask_raw(stage, "twice", {"text": "what leaks?"})
    ask_raw(stage, "twice", {"text": "what leaks?"})
    ask_raw(stage, "last", {"text": "what leaks?"})
    until(lambda: set(replies_by_request(stage)) >= {*QUESTIONS, "twice", "last"})

    replies = replies_by_request(stage)
    assert {name: len(replies[name]) for name in QUESTIONS} == dict.fromkeys(QUESTIONS, 1)
    found = {name: replies[name][0].status for name in QUESTIONS}
    assert found == {name: want or found[name] for name, (_, want) in QUESTIONS.items()}
    first, second = replies["twice"]  # a request that came twice
    assert (first.status, first.hits) == (second.status, second.hits)
    showed(requests=len(QUESTIONS) + 3, replies=sum(map(len, replies.values())))


def test_f19_a_worker_killed_in_mid_query_leaves_its_requests_to_the_next(stage, workers, showed):
    worker = workers()
    texts = [f"note {number}" for number in range(40)]
    stage.play([MemoryCreated(user_id=f"u{n}", memory_id="m", text=t) for n, t in enumerate(texts)])
    stage.settle()

    with Client(stage.settings) as client, ThreadPoolExecutor(40) as pool:
        asked = [
            pool.submit(client.ask, f"u{n}", text, deadline_ms=60_000)
            for n, text in enumerate(texts)
            for _ in range(10)
        ]
        until(lambda: sum(one.done() for one in asked) > 20, every=0.0)
        worker.kill()
        done = sum(one.done() for one in asked)
        began = time.monotonic()
        worker.start()
        answers = [one.result() for one in asked]
        seconds = time.monotonic() - began

    assert [answer.status for answer in answers] == [Status.OK] * 400
    assert [answer.hits[0].text for answer in answers] == [t for t in texts for _ in range(10)]
    doubled = sum(len(replies) > 1 for replies in replies_by_request(stage).values())
    showed(requests=400, before_the_kill=done, all_after_s=seconds, replied_twice=doubled)
