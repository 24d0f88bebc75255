"""A cluster of three brokers, and services of their own on it."""

import pytest
from kafka import KafkaAdminClient

from streams import topics
from streams.local import LocalKafka
from streams.settings import Settings
from streams.topics import Topics


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Three nodes: three replicas, of which two must be in sync. A test leaves all running."""
    with LocalKafka(tmp_path_factory.mktemp("cluster"), nodes=3) as kafka:
        yield kafka


@pytest.fixture
def settings(cluster, redis_url, namespace):
    """A service of the test's own on the three brokers, with the default session time-out."""
    settings = Settings(
        kafka=cluster.bootstrap, redis=redis_url, namespace=namespace,
        partitions=4, replication=3, encoder="hash:64",
    )  # fmt: skip
    topics.create(settings)
    yield settings
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap) as admin:
        admin.delete_topics(list(Topics(namespace).all))
