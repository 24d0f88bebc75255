"""The command line as a user types it, on a Kafka and a Redis without workers."""

import asyncio
import base64
import json
from pathlib import Path

import numpy as np
import pytest
from commands import Run, in_process, printed
from kafka import KafkaProducer
from stand_in import PATIENCE, Service

from seedmem.memory import Memory, Subject
from streams import records
from streams.archive import read_all
from streams.events import (
    DeadLetter,
    MemoryCreated,
    MemoryRecalled,
    QueryReply,
    Status,
    SubjectExtracted,
)
from streams.refusal import Reason
from streams.settings import Settings
from streams.store import MEMORY, SUBJECT, Write, connect, field
from streams.topics import Topics
from streams.wire import decode, encode


@pytest.fixture
def typed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    return in_process(monkeypatch, capsys)


@pytest.fixture
def seedmem(typed: Run, settings: Settings, tmp_path: Path) -> Run:
    """Run ``seedmem`` with the settings of the test in its environment."""
    return lambda *arguments: typed(*arguments, directory=tmp_path, variables=settings.to_env())


def values(settings: Settings, topic: str) -> list[bytes]:
    name = getattr(Topics(settings.namespace), topic)
    return [record.value for record in read_all(settings, name)]


def test_topics_are_created_once_and_then_pass_the_check(
    typed: Run, settings: Settings, tmp_path: Path
) -> None:
    own = settings.to_env() | {"SEEDMEM_NAMESPACE": f"{settings.namespace}more-"}
    before = typed("topics", "check", directory=tmp_path, variables=own)

    first = typed("topics", "create", "--json", directory=tmp_path, variables=own)
    second = typed("topics", "create", "--json", directory=tmp_path, variables=own)
    after = typed("topics", "check", "--json", directory=tmp_path, variables=own)

    assert before.returncode == 1
    assert "seedmem topics create" in before.stderr
    assert f"{settings.namespace}more-memory-created" in printed(first)["created"]
    assert printed(second) == {"created": []}
    assert printed(after) == {"ok": True}


def test_sent_lines_are_events_on_the_topic(
    seedmem: Run, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "events.jsonl"
    file.write_bytes(
        b'{"user_id": "ada", "memory_id": "m1", "text": "one", "colour": "unknown"}\n'
        b'{"user_id": "ada", "memory_id": "m1", "deleted": true}\n'
    )

    result = seedmem("send", str(file), "--json")

    assert printed(result) == {"sent": 2}
    assert [decode(raw, MemoryCreated) for raw in values(settings, "memory_created")] == [
        MemoryCreated(user_id="ada", memory_id="m1", text="one"),
        MemoryCreated(user_id="ada", memory_id="m1", deleted=True),
    ]


def test_a_line_that_is_no_event_is_named(seedmem: Run, tmp_path: Path) -> None:
    file = tmp_path / "events.jsonl"
    file.write_text('{"user_id": "ada", "memory_id": "m1", "text": "one"}\n{"user_id": "ada"}\n')

    result = seedmem("send", str(file))

    assert result.returncode == 1
    assert result.stderr.splitlines()[-1].startswith(f"seedmem: {file}:2: schema")
    assert "memory_id" in result.stderr


def test_import_sends_memories_and_subjects_and_counts_the_questions_that_it_skips(
    seedmem: Run, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "chats.jsonl"
    lines = [
        {"kind": "memory", "user_id": "ada", "id": "m1", "text": "hello", "session": "s1",
         "speaker": "user", "timestamp": "March-15-2024"},
        {"kind": "subject", "user_id": "ada", "id": "s1", "text": "greeting", "memories": ["m1"]},
        {"kind": "query", "user_id": "ada", "id": "q1", "text": "?", "gold": ["m1"]},
    ]  # fmt: skip
    file.write_text("\n".join(map(json.dumps, lines)))

    result = seedmem("import", "jsonl", str(file), "--json")

    assert printed(result) == {"memories": 1, "subjects": 1, "queries": 1}
    assert [decode(raw, MemoryCreated) for raw in values(settings, "memory_created")] == [
        MemoryCreated(
            user_id="ada", memory_id="m1", text="hello", session_id="s1", role="user",
            created_at=1_710_460_800.0,
        )
    ]  # fmt: skip
    assert [decode(raw, SubjectExtracted) for raw in values(settings, "subject_extracted")] == [
        SubjectExtracted(user_id="ada", subject_id="s1", name="greeting", memory_ids=["m1"])
    ]


def test_import_takes_the_file_that_locomo_publishes(
    seedmem: Run, settings: Settings, tmp_path: Path
) -> None:
    file = tmp_path / "locomo.json"
    turn = {"speaker": "Ann", "dia_id": "D1:1", "text": "Hi."}
    talk = {"session_1_date_time": "1:30 am on 2 January, 1970", "session_1": [turn]}
    file.write_text(json.dumps([{"sample_id": "conv-1", "conversation": talk, "qa": []}]))

    result = seedmem("import", "locomo", str(file), "--json")

    assert printed(result) == {"memories": 1, "subjects": 0, "queries": 0}
    [event] = [decode(raw, MemoryCreated) for raw in values(settings, "memory_created")]
    assert (event.user_id, event.memory_id, event.text) == ("conv-1", "D1:1", "Ann: Hi.")
    assert event.created_at == 91_800.0


def test_an_answer_is_printed_as_json_and_as_a_table(seedmem: Run, settings: Settings) -> None:
    with Service(settings):
        as_json = seedmem("ask", "ada", "what about [brackets]?", "--json", "--timeout", "20")
        as_table = seedmem("ask", "ada", "what about [brackets]?", "--explain", "--timeout", "20")

    assert printed(as_json)["hits"][0]["text"] == "what about [brackets]?"
    assert "what about [brackets]?" in as_table.stdout
    assert as_table.returncode == 0


def test_ask_hands_filters_and_tokens_on(seedmem: Run, settings: Settings) -> None:
    with Service(settings) as service:
        seedmem(
            "ask", "ada", "who?", "-k", "3", "--session", "s1", "--session", "s2", "--subject",
            "knee", "--since", "2024-01-01", "--as-of", "2024-06-01", "--mode", "association",
            "--after", "memory-created:2:17", "--timeout", "20", "--json",
        )  # fmt: skip

    [asked] = service.asked
    assert (asked.k, asked.mode, asked.as_of) == (3, "association", "2024-06-01")
    assert (asked.filters.sessions, asked.filters.subjects) == (["s1", "s2"], ["knee"])
    assert (asked.filters.since, asked.deadline_ms) == ("2024-01-01", 20_000)
    assert asked.after is not None
    assert (asked.after.topic, asked.after.partition, asked.after.offset) == (
        "memory-created",
        2,
        17,
    )


def test_a_question_that_the_service_refuses_is_an_error(seedmem: Run, settings: Settings) -> None:
    with Service(settings) as service:
        service.answer = lambda asked: [
            QueryReply(
                request_id=asked.request_id, user_id="ada", status=Status.INVALID, reason="no text"
            )
        ]
        result = seedmem("ask", "ada", "?", "--timeout", "20")

    assert result.returncode == 1
    assert result.stderr.strip() == "seedmem: invalid: no text"


def test_no_reply_is_an_error_in_one_line(seedmem: Run) -> None:
    result = seedmem("ask", "ada", "is anybody there?", "--timeout", "0.2")

    assert result.returncode == 1
    assert len(result.stderr.splitlines()) == 1
    assert "is a worker running?" in result.stderr


def test_forget_and_recalled_send_their_events(seedmem: Run, settings: Settings) -> None:
    forgotten = seedmem("forget", "ada", "m1", "--json")
    recalled = seedmem("recalled", "ada", "m2", "--query", "who was it?", "--rejected")

    topic, _, place = printed(forgotten)["after"].partition(":")
    assert topic == Topics(settings.namespace).memory_created
    assert place.endswith(":0")
    assert recalled.returncode == 0
    assert [decode(raw, MemoryCreated) for raw in values(settings, "memory_created")] == [
        MemoryCreated(user_id="ada", memory_id="m1", deleted=True)
    ]
    assert [decode(raw, MemoryRecalled) for raw in values(settings, "memory_recalled")] == [
        MemoryRecalled(user_id="ada", memory_id="m2", query="who was it?", outcome="rejected")
    ]


def test_dead_letters_say_where_and_why(seedmem: Run, settings: Settings) -> None:
    letter = DeadLetter(
        topic="memory-created", partition=1, offset=7, reason=Reason.MALFORMED, field="$",
        detail="payload is empty", key=b"ada", value=b"",
    )  # fmt: skip
    producer = KafkaProducer(bootstrap_servers=settings.kafka, acks="all")
    producer.send(Topics(settings.namespace).dead_letter, encode(letter)).get(PATIENCE)
    producer.close()

    as_json, as_table = seedmem("dead-letters", "--json"), seedmem("dead-letters")

    [found] = printed(as_json)
    assert (found["partition"], found["offset"], found["reason"]) == (1, 7, "malformed")
    assert base64.b64decode(found["key"]) == b"ada"
    assert "memory-created[1]@7" in as_table.stdout
    assert "1 of 1 refused events" in as_table.stdout


def test_a_digest_tells_states_apart_and_not_the_order_of_writes(
    seedmem: Run, settings: Settings
) -> None:
    def memory(id: str, *components: float) -> bytes:
        vector = np.array(components, dtype=np.float32)
        return records.encode(Memory(memory_id=id, text=id, vector=vector, sequence=0, born=0))

    vector = np.array([1.0, 0.0], dtype=np.float32)
    subject = Subject(
        subject_id="s", name="The  Knee", vector=vector, sequence=0, memory_ids=("a",)
    )
    writes = [(MEMORY, "a", memory("a", 1, 0)), (MEMORY, "b", memory("b", 0, 1))]
    writes += [(SUBJECT, "s", records.encode(subject)), (MEMORY, "gone", b"")]

    async def written() -> None:
        store = await connect(settings, "hash:2/2")
        for user, order in (("ada", writes), ("bob", writes[::-1]), ("cyd", writes[1:])):
            for offset, (kind, id, payload) in enumerate(order):
                await store.put([Write(user, field(kind, id), 5, offset, payload)])
        await store.close()

    asyncio.run(written())

    found = {digest["user_id"]: digest for digest in printed(seedmem("digest", "--json"))}

    assert found["ada"]["digest"] == found["bob"]["digest"] != found["cyd"]["digest"]
    assert found["ada"]["generation"] == "hash:2/2"
    assert [
        (memory["memory_id"], memory["version"], memory["subjects"])
        for memory in found["ada"]["memories"]
    ] == [("a", 5, ["the knee"]), ("b", 5, [])]
    assert printed(seedmem("digest", "nobody", "--json")) == []
