"""Over Kafka: memories a second, against an agent that only counts, and the encoder alone."""

from collections.abc import Callable
from statistics import median
from typing import NamedTuple

from benchmarks import flood
from benchmarks.bench import Bench
from benchmarks.report import Cell, Result, Target
from benchmarks.sides import DIM, Side, both_sides, seedmem_side
from benchmarks.timing import timed
from seedmem.encode import load_encoder

ENCODER = "minilm"
BARE, COLD, HOT, ALONE, TEXT = (
    "bare Faust, counts only",
    "seedmem, vectors given",
    "seedmem, vectors given, users in memory",
    "the encoder alone",
    "seedmem, embeds",
)
PATIENCE = 600.0  # seconds until one round must be over
_BATCH = 64  # texts of one call of the encoder; a worker's batch


class Speed(NamedTuple):
    """Of one round, or the medians of several."""

    rate: float
    """Events per second."""
    cpu: float
    """Microseconds that the process computed for one event, all threads together."""


def measure(bench: Bench) -> list[Result]:
    """Return events per second."""
    speeds = _given(bench) | _embedded(bench)
    rates = {name: speed.rate for name, speed in speeds.items()}
    rows: list[list[Cell]] = [
        [BARE, *speeds[BARE], 1.0],
        [COLD, *speeds[COLD], rates[COLD] / rates[BARE]],
        [HOT, *speeds[HOT], rates[HOT] / rates[BARE]],
        [ALONE, *speeds[ALONE], 1.0],
        [TEXT, *speeds[TEXT], rates[TEXT] / rates[ALONE]],
    ]
    note = (
        f"Events wait in Kafka; the clock runs from the first to the last that takes effect. "
        f"{bench.sizes.flood:,} events with vectors ({DIM} dimensions), {bench.sizes.embedded:,} "
        f"without (`{ENCODER}`, one thread), of {flood.USERS} users; {bench.talk.source}; median "
        f"of {bench.sizes.ingest_rounds} rounds in turns. Every write is on Redis's disk."
    )
    targets = (
        Target(claim="with vectors, against bare Faust", value=rates[COLD] / rates[BARE],
               bound=0.6, at_most=False),
        Target(claim="with embedding, against the encoder alone",
               value=rates[TEXT] / rates[ALONE], bound=0.9, at_most=False),
    )  # fmt: skip
    return [
        Result(
            name="ingest",
            title="Memories a second",
            note=note,
            columns=("what", "events/s", "CPU µs an event", "ratio of events/s"),
            rows=rows,
            targets=targets,
        )
    ]


def _given(bench: Bench) -> dict[str, Speed]:
    count = bench.sizes.flood
    with both_sides(bench) as (seedmem, bare):
        return _in_turns(
            bench,
            {
                BARE: lambda turn: _rate(bench, bare, count, DIM, turn),
                COLD: lambda turn: _rate(bench, seedmem, count, DIM, turn),
                HOT: lambda turn: _rate(bench, seedmem, count, DIM, turn, hot=True),
            },
        )


def _embedded(bench: Bench) -> dict[str, Speed]:
    encoder, count = load_encoder(ENCODER), bench.sizes.embedded
    texts = [bench.talk.turn(number).text for number in range(count)]

    def alone(_turn: int) -> Speed:
        runs = [timed(encoder.encode, texts[at : at + _BATCH]) for at in range(0, count, _BATCH)]
        seconds, computed = (sum(each) for each in zip(*runs, strict=True))
        return Speed(count / seconds, 1e6 * computed / count)

    with seedmem_side(bench, ENCODER) as seedmem:
        return _in_turns(
            bench, {ALONE: alone, TEXT: lambda turn: _rate(bench, seedmem, count, None, turn)}
        )


def _in_turns(bench: Bench, speeds: dict[str, Callable[[int], Speed]]) -> dict[str, Speed]:
    found: dict[str, list[Speed]] = {name: [] for name in speeds}
    for turn in range(bench.sizes.ingest_rounds):
        for name, speed in speeds.items():
            bench.progress(f"ingest: {name}, round {turn + 1}")
            found[name].append(speed(turn))
    return {name: Speed(*map(median, zip(*each, strict=True))) for name, each in found.items()}


def _rate(
    bench: Bench, side: Side, count: int, dim: int | None, turn: int, *, hot: bool = False
) -> Speed:
    """Return how fast a worker takes in events that all wait when it begins."""
    tag = f"{'hot' if hot else 'cold'}-{turn}"
    made = flood.events(bench.talk, count, dim=dim, tag=tag)
    for number in range(flood.USERS if hot else 0):
        side.client.ask(flood.user_id(tag, number), "hello?", deadline_ms=30_000)
    until, computed = side.taken_in + count, side.cpu
    with side.program.paused():
        flood.produce(side.settings.kafka, side.topic, made)
    rate = side.rate_until(until, timeout=PATIENCE)
    return Speed(rate, 1e6 * (side.cpu - computed) / count)
