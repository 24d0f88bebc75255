"""A producer may compress as it likes: both clients read every codec (F22)."""

import time

import aiokafka
import pytest
from kafka import KafkaConsumer, TopicPartition

from streams.topics import Topics

CODECS = ["gzip", "lz4", "snappy", "zstd"]
VALUE = b"a batch that is worth compressing " * 100


@pytest.fixture
async def topic(settings):
    """A topic with one batch of each codec in its partition 0."""
    name = Topics(settings.namespace).memory_created
    for codec in CODECS:
        async with aiokafka.AIOKafkaProducer(
            bootstrap_servers=settings.kafka, compression_type=codec
        ) as producer:
            await producer.send_and_wait(name, VALUE, key=codec.encode(), partition=0)
    return name


async def test_f22_the_workers_read_every_codec(settings, topic):
    async with aiokafka.AIOKafkaConsumer(
        bootstrap_servers=settings.kafka, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([aiokafka.TopicPartition(topic, 0)])
        records = [await consumer.getone() for _ in CODECS]

    assert [record.key.decode() for record in records] == CODECS
    assert {record.value for record in records} == {VALUE}


async def test_f22_the_client_reads_every_codec(settings, topic):
    partition = TopicPartition(topic, 0)
    records = []
    deadline = time.monotonic() + 20
    with KafkaConsumer(bootstrap_servers=settings.kafka, auto_offset_reset="earliest") as consumer:
        consumer.assign([partition])
        while len(records) < len(CODECS) and time.monotonic() < deadline:
            records += consumer.poll(timeout_ms=500).get(partition, [])

    assert [record.key.decode() for record in records] == CODECS
    assert {record.value for record in records} == {VALUE}
