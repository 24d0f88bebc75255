"""Producing from a client: an event counts as sent when the brokers have confirmed it."""

from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from streams import tracing
from streams.errors import TransientError
from streams.events import (
    AdapterPromoted,
    AdapterRetrain,
    After,
    Event,
    MemoryCreated,
    MemoryRecalled,
    QueryAsked,
    SubjectExtracted,
    UserErased,
)
from streams.reachable import require_broker
from streams.security import client_options
from streams.settings import Settings
from streams.topics import Topics
from streams.wire import decode, encode, key_of

if TYPE_CHECKING:
    from kafka import KafkaProducer

_CONNECT = 10.0  # seconds until a broker must have answered
_DELIVERY = 30.0  # seconds until the brokers must have confirmed an event
_LINGER_MS = 1  # gathers what several threads send at once; a lone event loses 1 ms
_IN_FLIGHT = 5_000  # events of one batch that are sent but not confirmed yet


class Sender:
    """One producer, thread-safe: ``acks=all``, idempotent, in order for each user."""

    def __init__(self, settings: Settings, topics: Topics) -> None:
        """Connect to the brokers of ``settings``.

        Raises:
            TransientError: none of them answers.
            MissingToolError: ``settings.tracing`` wants what is not installed.
        """
        tracing.start(settings, "seedmem-client")
        self._kafka = settings.kafka
        self._topic_of: dict[type[Event], str] = {
            MemoryCreated: topics.memory_created,
            SubjectExtracted: topics.subject_extracted,
            QueryAsked: topics.query,
            MemoryRecalled: topics.memory_recalled,
            UserErased: topics.user_erased,
            AdapterRetrain: topics.adapter_retrain,
            AdapterPromoted: topics.adapter_promoted,
        }
        self._producer = _producer(settings)

    def send(self, event: Event, *, timeout: float = _DELIVERY) -> After:
        """Send one event and return its place once it is confirmed; ``timeout`` in seconds.

        Raises:
            RefusedError: a field does not fit the contract; nothing was sent.
            TransientError: it was not confirmed in time. It may arrive all the same.
        """
        return self._confirmed(self._sent(event), timeout)

    def send_all(self, events: Iterable[Event]) -> list[After]:
        """Send events in order, many in flight, and return their places once all are confirmed.

        Raises as ``send``, at the first event that fails; those before it were sent.
        """
        places: list[After] = []
        in_flight: deque[Any] = deque()
        for event in events:
            in_flight.append(self._sent(event))
            if len(in_flight) >= _IN_FLIGHT:
                places.append(self._confirmed(in_flight.popleft(), _DELIVERY))
        return places + [self._confirmed(sent, _DELIVERY) for sent in in_flight]

    def close(self) -> None:
        """Flush and disconnect. Does nothing twice."""
        self._producer.close(timeout=_DELIVERY)

    def _sent(self, event: Event) -> Any:
        from kafka.errors import KafkaError

        payload = encode(event)
        decode(payload, type(event))  # what the workers would refuse never leaves
        topic, key = self._topic_of[type(event)], key_of(event.user_id)
        try:
            with tracing.sending(topic, key) as headers:
                return self._producer.send(topic, payload, key=key, headers=headers)
        except KafkaError as error:
            raise self._not_sent(error) from error

    def _confirmed(self, sent: Any, timeout: float) -> After:
        from kafka.errors import KafkaError

        try:
            place = sent.get(timeout=timeout)
        except KafkaError as error:
            raise self._not_sent(error) from error
        return After(topic=place.topic, partition=place.partition, offset=place.offset)

    def _not_sent(self, error: Exception) -> TransientError:
        return TransientError(f"Kafka at {self._kafka} did not confirm the event: {error}")


def _producer(settings: Settings) -> "KafkaProducer":
    from kafka import KafkaProducer
    from kafka.errors import KafkaError

    require_broker(settings.kafka)
    try:
        return KafkaProducer(
            **client_options(settings),
            acks="all",
            enable_idempotence=True,
            linger_ms=_LINGER_MS,
            delivery_timeout_ms=int(_DELIVERY * 1_000),
            request_timeout_ms=int(_CONNECT * 1_000),
            max_block_ms=int(_CONNECT * 1_000),
            bootstrap_timeout_ms=int(_CONNECT * 1_000),
            allow_auto_create_topics=False,
        )
    except KafkaError as error:
        raise TransientError(f"no answer from Kafka at {settings.kafka}: {error}") from error
