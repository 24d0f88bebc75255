"""A client's own partition of the reply topic: who waits for what, and the thread that reads.

There is no consumer group and nothing is committed: reading starts at the end of
the partition, before the first question goes out. A reply nobody waits for any more
is dropped.
"""

import logging
import random
import threading
import uuid
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from streams.errors import StreamsError, TopicsError, TransientError
from streams.events import QueryReply
from streams.refusal import RefusedError
from streams.security import client_options
from streams.settings import Settings
from streams.wire import decode

if TYPE_CHECKING:
    from kafka import KafkaConsumer

log = logging.getLogger(__name__)

_CONNECT = 10.0  # seconds until the partition must have been found and its end known
_POLL = 0.1  # seconds; how long close() waits for the thread at most, beside its own work
_PAUSE = 0.5  # seconds between two reads while the broker is away


class Replies:
    """Replies of one client, thread-safe. The thread starts with the first ``expect``."""

    def __init__(self, settings: Settings, topic: str, *, partition: int | None = None) -> None:
        """Describe the partition; ``None`` draws one, so that many clients spread out."""
        self._settings, self.topic, self._partition = settings, topic, partition
        self._waiting: dict[str, Future[QueryReply]] = {}
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._thread: threading.Thread | None = None
        self._failure: BaseException | None = None

    @property
    def partition(self) -> int:
        """The partition that questions must name; reading has begun when this returns.

        Raises:
            TopicsError: the reply topic, or its partition, does not exist.
            TransientError: Kafka does not answer.
            StreamsError: closed, or reading ended on an error.
        """
        with self._lock:
            if self._closing.is_set():
                raise StreamsError("the client is closed")
            if self._failure is not None:
                raise StreamsError(f"reading replies ended: {self._failure}") from self._failure
            if self._thread is None or self._partition is None:
                consumer, self._partition = _at_end(self._settings, self.topic, self._partition)
                self._thread = threading.Thread(
                    target=self._read, args=(consumer,), name="seedmem-replies", daemon=True
                )
                self._thread.start()
            return self._partition

    @contextmanager
    def expect(self, request_id: str) -> Iterator[Future[QueryReply]]:
        """Give the future that gets the reply to ``request_id`` while the block runs."""
        reply: Future[QueryReply] = Future()
        self._waiting[request_id] = reply
        try:
            yield reply
        finally:
            self._waiting.pop(request_id, None)

    def close(self) -> None:
        """Stop reading; whoever still waits gets a ``StreamsError``. Does nothing twice."""
        with self._lock:
            self._closing.set()
        if self._thread is not None:
            self._thread.join()

    def _read(self, consumer: "KafkaConsumer") -> None:
        try:
            while not self._closing.is_set():
                self._deliver(self._poll(consumer))
            self._give_up(StreamsError("the client was closed"))
        except Exception as error:  # those who wait must hear of it, whatever it is
            log.exception("reading %s[%s] ended", self.topic, self._partition)
            self._failure = error
            self._give_up(error)
        finally:
            consumer.close(autocommit=False, timeout_ms=1_000)

    def _poll(self, consumer: "KafkaConsumer") -> list[Any]:
        from kafka.errors import RetriableError

        try:
            batches = consumer.poll(timeout_ms=int(_POLL * 1_000))
        except RetriableError as error:
            log.warning("reading %s[%s] again soon: %s", self.topic, self._partition, error)
            self._closing.wait(_PAUSE)
            return []
        return [record for batch in batches.values() for record in batch]

    def _deliver(self, records: list[Any]) -> None:
        for record in records:
            try:
                reply = decode(record.value, QueryReply)
            except RefusedError as error:
                place = (record.topic, record.partition, record.offset)
                log.warning("not a reply at %s[%s]@%s: %s", *place, error)
                continue
            waiting = self._waiting.pop(reply.request_id, None)
            if waiting is not None:
                waiting.set_result(reply)

    def _give_up(self, error: BaseException) -> None:
        while self._waiting:
            _, waiting = self._waiting.popitem()
            waiting.set_exception(error)


def _at_end(settings: Settings, topic: str, wanted: int | None) -> tuple["KafkaConsumer", int]:
    """Return a consumer that stands at the end of a partition of ``topic``, and which one."""
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import KafkaError

    consumer = KafkaConsumer(
        **client_options(settings),
        client_id=f"seedmem-client-{uuid.uuid4().hex[:8]}",
        group_id=None,
        enable_auto_commit=False,
        auto_offset_reset="latest",
        allow_auto_create_topics=False,
        fetch_min_bytes=1,
    )
    try:
        consumer.bootstrap(timeout_ms=int(_CONNECT * 1_000))
        place = TopicPartition(topic, _chosen(topic, consumer.partitions_for_topic(topic), wanted))
        consumer.assign([place])
        consumer.seek_to_end(place)
        if consumer.position(place, timeout_ms=int(_CONNECT * 1_000)) is None:
            raise TransientError(f"no end of {topic}[{place.partition}] known after {_CONNECT:g} s")
    except KafkaError as error:
        consumer.close(autocommit=False, timeout_ms=1_000)
        raise TransientError(
            f"cannot read replies from Kafka at {settings.kafka}: {error}"
        ) from error
    except StreamsError:
        consumer.close(autocommit=False, timeout_ms=1_000)
        raise
    return consumer, place.partition


def _chosen(topic: str, partitions: set[int], wanted: int | None) -> int:
    if not partitions:
        raise TopicsError(f"topic {topic} does not exist; run: seedmem topics create")
    if wanted is not None and wanted not in partitions:
        raise TopicsError(f"topic {topic} has partitions 0 to {max(partitions)}, not {wanted}")
    return random.choice(sorted(partitions)) if wanted is None else wanted
