"""Many memories at once, produced by a process of its own so that nobody else waits for it."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from multiprocessing import get_context

from benchmarks.data import Talk, vectors
from seedmem.vectors import to_wire
from streams.events import MemoryCreated
from streams.wire import encode, key_of

USERS = 200
_DISTINCT = 1_000  # vectors; then the first comes again


def produce(kafka: str, topic: str, events: Sequence[tuple[bytes, bytes]]) -> None:
    """Produce keys and payloads as fast as can be; return when the broker has them all."""
    from kafka import KafkaProducer

    producer = KafkaProducer(bootstrap_servers=kafka, acks="all", linger_ms=5)
    sent = [producer.send(topic, value, key=key) for key, value in events]
    for future in sent:
        future.get(60)
    producer.close()


def events(talk: Talk, count: int, *, dim: int | None, tag: str) -> list[tuple[bytes, bytes]]:
    """Return keys and payloads of ``count`` memories of ``USERS`` users.

    Args:
        talk: whose turns are remembered.
        count: of all users together.
        dim: of the vectors that they bring; None: they bring none.
        tag: in every user and memory id, so that two floods do not meet.
    """
    matrix = None if dim is None else vectors(min(count, _DISTINCT), dim)
    wires = [None] if matrix is None else [to_wire(vector) for vector in matrix]
    made = []
    for number in range(count):
        turn = talk.turn(number)
        memory = MemoryCreated(
            user_id=user_id(tag, number),
            memory_id=f"memory-{tag}-{number}",
            text=turn.text,
            created_at=turn.created_at,
            session_id=turn.session,
            vector=wires[number % len(wires)],
        )
        made.append((key_of(memory.user_id), encode(memory)))
    return made


def user_id(tag: str, number: int) -> str:
    """Return the user that memory ``number`` belongs to."""
    return f"user-{tag}-{number % USERS}"


@contextmanager
def producing(kafka: str, topic: str, made: Sequence[tuple[bytes, bytes]]) -> Iterator[None]:
    """Produce ``made`` beside the block; leave it when the broker has them all."""
    process = get_context("spawn").Process(target=produce, args=(kafka, topic, made))
    process.start()
    try:
        yield
        process.join()
    finally:
        if process.is_alive():
            process.kill()
        code = process.exitcode
    if code != 0:
        raise RuntimeError(f"the producer ended with code {code}")
