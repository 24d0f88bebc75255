"""Over Kafka: from the call that remembers to the first answer that holds the memory."""

from benchmarks.bench import Bench
from benchmarks.data import vectors
from benchmarks.report import Cell, Result
from benchmarks.sides import DIM, USER, checked, remember, seedmem_side
from benchmarks.states import K
from benchmarks.timing import Latency, took
from seedmem.vectors import Vector
from streams.client import Client, Remembered
from streams.events import After, QueryReply


def measure(bench: Bench) -> list[Result]:
    """Return p50 and p99."""
    asked = vectors(2 * bench.sizes.remembered, DIM, seed=4)
    searchable, confirmed, round_trips = list[float](), list[float](), list[float]()
    with seedmem_side(bench, f"given:{DIM}") as side:
        bench.progress("freshness")
        remember(side.client, bench)
        for number, vector in enumerate(asked):
            text = bench.talk.turn(number).text
            if number % 2:
                searchable.append(took(_found, side.client, text, vector))
            else:
                confirmed.append(took(_remember, side.client, text, vector))
                round_trips.append(took(_ask, side.client, text, vector))
    wait = 1e3 * side.settings.batch_wait
    rows: list[list[Cell]] = [
        [name, *Latency.of(times)]
        for name, times in (
            ("remembered and found by the next question", searchable),
            ("remembered: the brokers have it", confirmed),
            ("a question alone", round_trips),
        )
    ]
    note = (
        f"{bench.sizes.remembered} memories of one hot user of {bench.sizes.memories:,}, vectors "
        f"given ({DIM} dimensions), one at a time; {bench.talk.source}. The question follows at "
        f"once and names the memory's place (`after`). An ingest batch waits "
        f"{wait:g} ms to fill."
    )
    return [
        Result(
            name="freshness",
            title="From produced to searchable",
            note=note,
            columns=("what", "p50 ms", "p99 ms"),
            rows=rows,
        )
    ]


def _remember(client: Client, text: str, vector: Vector) -> Remembered:
    return client.remember(USER, text, vector=vector)


def _ask(client: Client, text: str, vector: Vector, after: After | None = None) -> QueryReply:
    return checked(client.ask(USER, text, vector=vector, k=K, after=after))


def _found(client: Client, text: str, vector: Vector) -> None:
    made = _remember(client, text, vector)
    reply = _ask(client, text, vector, after=made.token)
    if made.memory_id not in {hit.memory_id for hit in reply.hits}:
        raise RuntimeError(f"the answer ({reply.status}) does not hold what was remembered")
