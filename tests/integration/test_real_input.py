"""Real conversations through Kafka: what is served is what the library finds offline."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
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
USER = "conv-30"
DEADLINE_MS = 60_000  # of a question that waits until all has been applied


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    """One LoCoMo conversation with its subjects, as a file of its own."""
    names = ("locomo.jsonl", "locomo_subjects.jsonl")
    if not all((SHARED / name).is_file() for name in names):
        pytest.skip("the LoCoMo data is not beside this checkout; its licence keeps it out")
    lines = [line for name in names for line in (SHARED / name).read_bytes().splitlines()]
    mine = [line for line in lines if msgspec.json.decode(line)["user_id"] == USER]
    path = tmp_path / "conversation.jsonl"
    path.write_bytes(b"\n".join(mine))
    return path


def as_stored(encoder: Encoder, texts: list[str]) -> list[Vector]:
    return [unpack(pack(vector), encoder.space.dim) for vector in encoder.encode(texts)]


def offline(items: list[Item], k: int) -> list[list[str]]:
    """Return the hits of each question, found without Kafka, Redis or a worker."""
    encoder = load_encoder("minilm")
    memories = [item for item in items if isinstance(item, MemoryItem)]
    subjects = [item for item in items if isinstance(item, SubjectItem)]
    stored = as_stored(encoder, [memory.text for memory in memories])
    named = as_stored(encoder, [subject.name for subject in subjects])
    state = UserState(encoder.space)
    for number, (item, vector) in enumerate(zip(memories, stored, strict=True), 1):
        memory = Memory(
            memory_id=item.id, text=item.text, vector=vector, sequence=number, born=number,
            created_at=item.created_at, session_id=item.session, role=item.speaker,
        )  # fmt: skip
        state.apply(memory)
    for number, (item, vector) in enumerate(zip(subjects, named, strict=True), len(memories) + 1):
        subject = Subject(
            subject_id=item.id, name=item.name, vector=vector, sequence=number,
            memory_ids=item.memory_ids,
        )  # fmt: skip
        state.apply(subject)
    questions = [item for item in items if isinstance(item, QueryItem) and item.gold]
    answers = [
        retrieve(state, Query(text=q.text, vector=v, k=k))
        for q, v in zip(questions, encoder.encode([q.text for q in questions]), strict=True)
    ]
    return [[hit.memory_id for hit in answer.hits] for answer in answers]


@pytest.mark.timeout(300)
def test_a_conversation_is_served_as_it_is_found_offline(settings, workers, conversation):
    items = list(parse_lines(conversation.read_bytes().splitlines()))
    questions = [item for item in items if isinstance(item, QueryItem) and item.gold]
    worker = workers(encoder="minilm")

    environment = {**os.environ, **worker.settings.to_env()}
    command = [sys.executable, "-m", "streams.cli", "import", "jsonl", str(conversation)]
    subprocess.run(command, env=environment, check=True, timeout=60, capture_output=True)

    with Client(worker.settings) as client:
        for last in (client.forget(USER, "none"), client.link(USER, "none", "none", [])):
            client.ask(USER, "ready?", after=last, deadline_ms=DEADLINE_MS)
        answers = [client.ask(USER, q.text, k=10) for q in questions]

    assert {answer.status for answer in answers} == {Status.OK}
    served = [[hit.memory_id for hit in answer.hits] for answer in answers]
    wanted = offline(items, k=10)
    assert recall(served, questions) == recall(wanted, questions)
    assert recall(served, questions) > 0.7


def recall(rankings: list[list[str]], questions: list[QueryItem]) -> float:
    found = [bool(set(r) & set(q.gold)) for r, q in zip(rankings, questions, strict=True)]
    return sum(found) / len(found)
