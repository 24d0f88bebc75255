"""Real conversations through Kafka: what is served is what the library finds offline."""

import json
import os
import subprocess
import sys
from collections import defaultdict
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest

from seedmem.encode import Encoder, load_encoder
from seedmem.evaluate.datasets import Item, MemoryItem, QueryItem, SubjectItem, parse_lines
from seedmem.memory import Memory, Subject
from seedmem.retrieve import Query, retrieve
from seedmem.user import UserState
from seedmem.vectors import Vector, pack, unpack
from streams.client import Client
from streams.events import Status

SHARED = Path(__file__).parents[3] / "shared" / "data"
ONE = {"conv-30"}
AT_ONCE = 8  # questions on their way
DEADLINE_MS = 500_000  # of a question that waits until all has been applied

Conversations = Callable[[set[str] | None], Path]


@pytest.fixture
def conversations(tmp_path: Path) -> Conversations:
    """Call it for a file of these LoCoMo users, or of all, with their subjects."""
    names = ("locomo.jsonl", "locomo_subjects.jsonl")
    if not all((SHARED / name).is_file() for name in names):
        pytest.skip("the LoCoMo data is not beside this checkout; its licence keeps it out")

    def make(users: set[str] | None) -> Path:
        lines = [line for name in names for line in (SHARED / name).read_bytes().splitlines()]
        chosen = [line for line in lines if users is None or json.loads(line)["user_id"] in users]
        path = tmp_path / "conversations.jsonl"
        path.write_bytes(b"\n".join(chosen))
        return path

    return make


@pytest.mark.timeout(300)
def test_a_conversation_is_served_as_it_is_found_offline(settings, workers, conversations):
    served, found = served_and_found(workers(encoder="minilm").settings, conversations(ONE))

    assert served == found
    assert recall(served) > 0.7


@pytest.mark.slow
@pytest.mark.timeout(1_500)
def test_all_ten_conversations_are_served_as_they_are_found_offline(
    settings, workers, conversations
):
    served, found = served_and_found(workers(encoder="minilm").settings, conversations(None))

    assert (len(served), recall(served)) == (1_536, recall(found))
    assert recall(served) >= 0.72


def served_and_found(settings, path: Path) -> tuple[list[bool], list[bool]]:
    """For each question, whether its ten best hits hold a gold memory: over Kafka, and offline."""
    of_user: dict[str, list[Item]] = defaultdict(list)
    for item in parse_lines(path.read_bytes().splitlines()):
        of_user[item.user_id].append(item)
    environment = {**os.environ, **settings.to_env()}
    command = [sys.executable, "-m", "streams.cli", "import", "jsonl", str(path)]
    subprocess.run(command, env=environment, check=True, timeout=120, capture_output=True)
    served, found, encoder = [], [], load_encoder("minilm")
    with Client(settings) as client, ThreadPoolExecutor(AT_ONCE) as pool:
        for user, items in of_user.items():
            for last in (client.forget(user, "none"), client.link(user, "none", "none", [])):
                client.ask(user, "ready?", after=last, deadline_ms=DEADLINE_MS)
            asked = [item for item in items if isinstance(item, QueryItem) and is_answerable(item)]
            served += pool.map(partial(over_kafka, client), asked)
            found += offline(encoder, items, asked)
    return served, found


def is_answerable(question: QueryItem) -> bool:
    return bool(question.gold) and question.category != "adversarial"


def over_kafka(client: Client, question: QueryItem) -> bool:
    answer = client.ask(question.user_id, question.text, k=10, deadline_ms=20_000)
    assert answer.status is Status.OK, answer.reason
    return any(hit.memory_id in question.gold for hit in answer.hits)


def offline(encoder: Encoder, items: list[Item], asked: list[QueryItem]) -> list[bool]:
    """The same from the library alone: no Kafka, no Redis, no worker."""
    state = state_of(encoder, items)
    vectors = encoder.encode([question.text for question in asked])
    answers = [
        retrieve(state, Query(text=question.text, vector=vector, k=10))
        for question, vector in zip(asked, vectors, strict=True)
    ]
    return [
        any(hit.memory_id in question.gold for hit in answer.hits)
        for question, answer in zip(asked, answers, strict=True)
    ]


def state_of(encoder: Encoder, items: list[Item]) -> UserState:
    state = UserState(encoder.space)
    memories = [item for item in items if isinstance(item, MemoryItem)]
    subjects = [item for item in items if isinstance(item, SubjectItem)]
    texts = as_stored(encoder, [memory.text for memory in memories])
    names = as_stored(encoder, [subject.name for subject in subjects])
    for number, (item, vector) in enumerate(zip(memories, texts, strict=True), 1):
        memory = Memory(
            memory_id=item.id, text=item.text, vector=vector, sequence=number, born=number,
            created_at=item.created_at, session_id=item.session, role=item.speaker,
        )  # fmt: skip
        state.apply(memory)
    for number, (item, vector) in enumerate(zip(subjects, names, strict=True), len(memories) + 1):
        subject = Subject(
            subject_id=item.id, name=item.name, vector=vector, sequence=number,
            memory_ids=item.memory_ids,
        )  # fmt: skip
        state.apply(subject)
    return state


def as_stored(encoder: Encoder, texts: list[str]) -> list[Vector]:
    return [unpack(pack(vector), encoder.space.dim) for vector in encoder.encode(texts)]


def recall(found: list[bool]) -> float:
    return sum(found) / len(found)
