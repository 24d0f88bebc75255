"""A service that answers as a test tells it, so that replies can be late, doubled or missing."""

import threading
from collections.abc import Callable

from kafka import KafkaConsumer, KafkaProducer

from streams.events import QueryAsked, QueryReply, Status, WireHit
from streams.settings import Settings
from streams.topics import Topics
from streams.wire import decode, encode

PATIENCE = 30.0  # seconds; the machine may be busy


class Service:
    """Answers each question with its own text, unless ``answer`` says otherwise."""

    def __init__(self, settings: Settings) -> None:
        self._settings, self._topics = settings, Topics(settings.namespace)
        self.answer: Callable[[QueryAsked], list[QueryReply]] = lambda question: [echo(question)]
        self.asked: list[QueryAsked] = []
        self._stop, self._ready = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "Service":
        self._thread.start()
        assert self._ready.wait(PATIENCE)
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        consumer = KafkaConsumer(
            self._topics.query, bootstrap_servers=self._settings.kafka, group_id=None,
            auto_offset_reset="earliest", enable_auto_commit=False,
        )  # fmt: skip
        producer = KafkaProducer(bootstrap_servers=self._settings.kafka, acks="all")
        self._ready.set()
        while not self._stop.is_set():
            for records in consumer.poll(timeout_ms=50).values():
                for record in records:
                    question = decode(record.value, QueryAsked)
                    self.asked.append(question)
                    for reply in self.answer(question):
                        self.reply(producer, reply, question)
        consumer.close()
        producer.close()

    def reply(self, producer: KafkaProducer, reply: QueryReply, to: QueryAsked) -> None:
        topic = self._topics.query_reply
        producer.send(topic, encode(reply), partition=to.reply_partition).get(PATIENCE)


def echo(question: QueryAsked) -> QueryReply:
    hit = WireHit(memory_id="m", text=question.text or "", score=1.0, tier="dense", parts={})
    return QueryReply(
        request_id=question.request_id, user_id=question.user_id, status=Status.OK, hits=[hit]
    )
