"""Topics are made explicitly, and unequal ones stop a worker with one line (F14, F16)."""

import time
from collections.abc import Callable

import msgspec
import pytest
from kafka import KafkaAdminClient

from streams import topics
from streams.errors import TopicsError, TransientError
from streams.local import LocalKafka
from streams.local.ports import kept_ports
from streams.settings import Settings
from streams.topics import Topics


@pytest.fixture
def bare(kafka: LocalKafka, namespace: str):
    """The settings of a service without topics."""
    yield Settings(kafka=kafka.bootstrap, namespace=namespace, partitions=8)
    with KafkaAdminClient(bootstrap_servers=kafka.bootstrap) as admin:
        admin.delete_topics(list(Topics(namespace).all), raise_errors=False)


def partition_counts(settings: Settings) -> dict[str, int]:
    with KafkaAdminClient(bootstrap_servers=settings.kafka) as admin:
        described = admin.describe_topics()
    return {
        topic["name"].removeprefix(settings.namespace): len(topic["partitions"])
        for topic in described
        if topic["name"].startswith(settings.namespace)
    }


def until(claim: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not claim():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def make_topic(settings: Settings, name: str, partitions: int) -> None:
    options = {"num_partitions": partitions, "replication_factor": 1}
    with KafkaAdminClient(bootstrap_servers=settings.kafka) as admin:
        admin.create_topics({settings.namespace + name: options}, wait_for_metadata=True)


def test_every_topic_is_created_with_the_partitions_of_the_settings(bare):
    topics.create(bare)

    assert partition_counts(bare) == {
        "memory-created": 8,
        "subject-extracted": 8,
        "query": 8,
        "query-reply": 8,
        "memory-recalled": 8,
        "dead-letter": 8,
        "user-erased": 8,
        "erase-receipt": 8,
        "adapter-retrain": 8,
        "adapter-promoted": 8,
    }


def test_only_what_is_missing_is_created(bare):
    make_topic(bare, "memory-created", 8)

    created = topics.create(bare)

    assert len(created) == 9
    assert f"{bare.namespace}memory-created" not in created
    assert topics.create(bare) == []


def test_a_service_whose_topics_are_all_there_passes_the_check(settings):
    topics.check(settings)


def test_f14_unequal_counts_are_refused_in_one_line_that_names_both_topics(bare):
    make_topic(bare, "memory-created", 8)
    make_topic(bare, "subject-extracted", 4)

    with pytest.raises(TopicsError) as refused:
        topics.check(bare)

    line = str(refused.value)
    assert "subject-extracted has 4 partitions" in line
    assert "memory-created has 8" in line
    assert "\n" not in line


def test_nothing_is_created_beside_topics_that_disagree(bare):
    make_topic(bare, "memory-created", 8)
    make_topic(bare, "subject-extracted", 4)

    with pytest.raises(TopicsError):
        topics.create(bare)

    assert partition_counts(bare) == {"memory-created": 8, "subject-extracted": 4}


def test_f16_topics_that_got_more_partitions_are_refused_until_the_setting_says_so(bare):
    topics.create(bare)
    with KafkaAdminClient(bootstrap_servers=bare.kafka) as admin:
        admin.create_partitions(dict.fromkeys(Topics(bare.namespace).copartitioned, 12))
    until(lambda: list(partition_counts(bare).values()).count(12) == 8)

    with pytest.raises(TopicsError, match="has 12 partitions and SEEDMEM_PARTITIONS is 8"):
        topics.check(bare)

    topics.check(msgspec.structs.replace(bare, partitions=12))


def test_topics_that_are_not_read_by_user_may_have_any_count(bare):
    make_topic(bare, "dead-letter", 1)
    make_topic(bare, "erase-receipt", 3)

    topics.create(bare)

    topics.check(bare)


def test_missing_topics_are_named_with_the_command_that_makes_them(bare):
    with pytest.raises(TopicsError, match=r"memory-created.*seedmem topics create"):
        topics.check(bare)


def test_a_replication_that_the_cluster_cannot_give_is_refused_in_one_line(bare):
    three = msgspec.structs.replace(bare, replication=3)

    with pytest.raises(TopicsError, match="replication factor of 3") as refused:
        topics.create(three)

    assert "\n" not in str(refused.value)


def test_a_kafka_that_is_away_is_said_to_be_away(monkeypatch, tmp_path):
    monkeypatch.setattr(topics, "_CONNECT", 0.5)
    [port] = kept_ports(tmp_path / "port", 1)

    with pytest.raises(TransientError, match=f"127.0.0.1:{port}.*SEEDMEM_KAFKA"):
        topics.check(Settings(kafka=f"127.0.0.1:{port}"))
