"""The client against a real broker. A thread plays the service, so that replies can be late."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import numpy as np
import pytest
from kafka import KafkaProducer
from reading import until
from stand_in import PATIENCE, Service, echo

from seedmem.vectors import from_wire
from streams import topics
from streams.archive import read_all
from streams.client import Client
from streams.errors import AnswerTimeout, StreamsError, TopicsError, TransientError
from streams.events import (
    After,
    MemoryCreated,
    MemoryRecalled,
    QueryReply,
    Status,
    SubjectExtracted,
    UserErased,
)
from streams.local import LocalKafka
from streams.refusal import RefusedError
from streams.settings import Settings
from streams.topics import Topics
from streams.wire import decode


@pytest.fixture
def settings(settings: Settings) -> Settings:
    """Those of the test, with a deadline for a busy machine."""
    return msgspec.structs.replace(settings, deadline=20.0)


@pytest.fixture
def client(settings: Settings) -> Iterator[Client]:
    with Client(settings) as made:
        yield made


@pytest.fixture
def service(settings: Settings) -> Iterator[Service]:
    with Service(settings) as made:
        yield made


def events(settings: Settings, topic: str) -> list[bytes]:
    name = getattr(Topics(settings.namespace), topic)
    return [record.value for record in read_all(settings, name)]


def test_a_remembered_memory_is_on_its_topic_where_the_token_says(
    client: Client, settings: Settings
) -> None:
    kept = client.remember(
        "ada", "the physio is strict", memory_id="m1", version=3, session_id="s1", role="user",
        created_at=datetime(2024, 3, 15, 19, 40, tzinfo=UTC), vector=[3.0, 4.0], encoder="given:2",
        metadata={"source": "chat"},
    )  # fmt: skip

    [record] = read_all(settings, Topics(settings.namespace).memory_created)
    event = decode(record.value, MemoryCreated)
    assert kept.memory_id == "m1"
    assert kept.token == After(topic=record.topic, partition=record.partition, offset=record.offset)
    assert record.key == b"ada"
    assert (event.text, event.version, event.session_id) == ("the physio is strict", 3, "s1")
    assert event.created_at == "2024-03-15T19:40:00+00:00"
    assert isinstance(event.vector, str)
    np.testing.assert_allclose(from_wire(event.vector, 2), [0.6, 0.8], rtol=1e-6)
    assert event.metadata == {"source": "chat"}


def test_a_memory_without_an_id_gets_one_of_its_own(client: Client) -> None:
    first, second = client.remember("ada", "one"), client.remember("ada", "two")

    assert len(first.memory_id) == 32
    assert first.memory_id != second.memory_id
    assert second.token.offset == first.token.offset + 1


def test_forget_link_recalled_and_erase_send_the_events_of_the_contract(
    client: Client, settings: Settings
) -> None:
    client.forget("ada", "m1", version=4)
    client.link("ada", "s1", "the knee", ["m1", "m2"], type="topic")
    client.recalled("ada", "m2", query="who was it?", outcome="rejected")
    client.erase("ada", request_id="r1")

    assert [decode(raw, MemoryCreated) for raw in events(settings, "memory_created")] == [
        MemoryCreated(user_id="ada", memory_id="m1", version=4, deleted=True)
    ]
    assert [decode(raw, SubjectExtracted) for raw in events(settings, "subject_extracted")] == [
        SubjectExtracted(
            user_id="ada", subject_id="s1", name="the knee", memory_ids=["m1", "m2"], type="topic"
        )
    ]
    assert [decode(raw, MemoryRecalled) for raw in events(settings, "memory_recalled")] == [
        MemoryRecalled(user_id="ada", memory_id="m2", query="who was it?", outcome="rejected")
    ]
    assert [decode(raw, UserErased) for raw in events(settings, "user_erased")] == [
        UserErased(user_id="ada", request_id="r1")
    ]


def test_an_event_that_does_not_fit_the_contract_never_leaves(
    client: Client, settings: Settings
) -> None:
    with pytest.raises(RefusedError, match="257 bytes"):
        client.remember("a" * 257, "text")

    assert events(settings, "memory_created") == []


def test_recalled_wants_either_the_question_or_its_request(client: Client) -> None:
    with pytest.raises(ValueError, match="query or request_id"):
        client.recalled("ada", "m1")
    with pytest.raises(ValueError, match="query or request_id"):
        client.recalled("ada", "m1", query="who?", request_id="r1")


def test_a_batch_gives_the_places_of_its_events_in_order(
    client: Client, settings: Settings
) -> None:
    places = client.send_all(
        MemoryCreated(user_id="ada", memory_id=str(number), text="x") for number in range(12_000)
    )

    assert [place.offset for place in places] == list(range(12_000))
    found = [decode(raw, MemoryCreated).memory_id for raw in events(settings, "memory_created")]
    assert found == [str(number) for number in range(12_000)]


def test_a_batch_raises_what_is_wrong_with_one_of_its_events(client: Client) -> None:
    batch = [MemoryCreated(user_id="ada", memory_id=name, text="x") for name in ("ok", "b" * 300)]

    with pytest.raises(RefusedError, match="300 bytes"):
        client.send_all(batch)


def test_an_answer_carries_what_the_service_replied(client: Client, service: Service) -> None:
    answer = client.ask("ada", "who was that for my knee?", k=3)

    assert answer.status is Status.OK
    assert [hit.text for hit in answer.hits] == ["who was that for my knee?"]
    assert (service.asked[0].user_id, service.asked[0].k) == ("ada", 3)
    assert service.asked[0].deadline_ms == 20_000


def test_a_question_can_be_a_vector_alone(client: Client, service: Service) -> None:
    client.ask("ada", vector=np.array([0.0, 2.0], dtype=np.float32))

    assert service.asked[0].text is None
    assert isinstance(service.asked[0].vector, str)
    np.testing.assert_allclose(from_wire(service.asked[0].vector, 2), [0.0, 1.0])


def test_threads_that_ask_at_once_each_get_their_own_answer(
    client: Client, service: Service
) -> None:
    questions = [f"question {number}" for number in range(64)]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(lambda text: client.ask("ada", text), questions))

    assert [answer.hits[0].text for answer in answers] == questions


def test_clients_that_share_a_partition_do_not_get_each_others_answers(
    settings: Settings, service: Service
) -> None:
    with Client(settings, reply_partition=1) as one, Client(settings, reply_partition=1) as two:
        first, second = one.ask("ada", "from one"), two.ask("bob", "from two")

    assert (first.hits[0].text, second.hits[0].text) == ("from one", "from two")
    assert {question.reply_partition for question in service.asked} == {1}


def test_a_time_out_says_what_was_waited_for(client: Client) -> None:
    with pytest.raises(AnswerTimeout, match=r"query-reply\[\d\] within 0.5 s"):
        client.ask("ada", "is anybody there?", timeout=0.5)


def test_late_doubled_and_broken_replies_are_dropped(client: Client, service: Service) -> None:
    late: list[QueryReply] = []
    service.answer = lambda question: late.append(echo(question)) or []  # type: ignore[func-returns-value]
    with pytest.raises(AnswerTimeout):
        client.ask("ada", "too slow", timeout=0.5)
    until(lambda: late)  # the service has seen the question, however busy the machine is
    broken = QueryReply(request_id="", user_id="", status=Status.OK)
    service.answer = lambda question: [*late, broken, echo(question), echo(question)]

    answers = [client.ask("ada", text).hits[0].text for text in ("next", "after next")]

    assert late[0].hits[0].text == "too slow"
    assert answers == ["next", "after next"]


def test_a_reply_that_is_no_json_does_not_end_the_reading(
    client: Client, service: Service, settings: Settings
) -> None:
    client.ask("ada", "first")
    producer = KafkaProducer(bootstrap_servers=settings.kafka, acks="all")
    for partition in range(settings.partitions):
        topic = Topics(settings.namespace).query_reply
        producer.send(topic, b"{bad", partition=partition).get(PATIENCE)
    producer.close()

    assert client.ask("ada", "second").hits[0].text == "second"


def test_a_reply_partition_that_does_not_exist_is_named(settings: Settings) -> None:
    with (
        Client(settings, reply_partition=7) as client,
        pytest.raises(TopicsError, match="partitions 0 to 3, not 7"),
    ):
        client.ask("ada", "hello")


def test_a_missing_reply_topic_says_what_to_run(settings: Settings) -> None:
    elsewhere = msgspec.structs.replace(settings, namespace="nobody-made-these-")
    with (
        Client(elsewhere) as client,
        pytest.raises(TopicsError, match="seedmem topics create"),
    ):
        client.ask("ada", "hello")


def test_closing_twice_is_once_and_a_closed_client_asks_nothing(
    settings: Settings, service: Service
) -> None:
    client = Client(settings)
    client.ask("ada", "hello")

    client.close()
    client.close()

    with pytest.raises(StreamsError, match="closed"):
        client.ask("ada", "hello again")


def test_closing_wakes_whoever_waits_for_a_reply(settings: Settings, service: Service) -> None:
    asked = threading.Event()
    service.answer = lambda question: asked.set() or []  # type: ignore[func-returns-value]
    client = Client(settings)

    with ThreadPoolExecutor(1) as pool:
        waiting = pool.submit(client.ask, "ada", "hello")
        assert asked.wait(PATIENCE)
        client.close()

        with pytest.raises(StreamsError, match="closed"):
            waiting.result(PATIENCE)


def test_no_broker_is_an_error_in_one_line() -> None:
    with pytest.raises(TransientError, match="seedmem up") as failure:
        Client("127.0.0.1:9")

    assert "\n" not in str(failure.value)


@pytest.mark.slow
def test_a_client_outlives_a_crash_of_the_broker(tmp_path: Path) -> None:
    with LocalKafka(tmp_path / "kafka") as server:
        settings = Settings(kafka=server.bootstrap, partitions=1, deadline=60.0)
        topics.create(settings)
        with Client(settings) as client, Service(settings):
            client.ask("ada", "before")

            server.kill()
            server.start()

            assert client.ask("ada", "after").hits[0].text == "after"
