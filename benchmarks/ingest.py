"""Over Kafka: memories a second, against an agent that only counts, and the encoder alone."""

from collections.abc import Callable
from statistics import median

from benchmarks import flood
from benchmarks.bench import Bench
from benchmarks.report import Cell, Result, Target
from benchmarks.sides import DIM, Side, both_sides, seedmem_side
from benchmarks.timing import took
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


def measure(bench: Bench) -> list[Result]:
    """Return events per second."""
    rates = _given(bench) | _embedded(bench)
    rows: list[list[Cell]] = [
        [BARE, rates[BARE], 1.0],
        [COLD, rates[COLD], rates[COLD] / rates[BARE]],
        [HOT, rates[HOT], rates[HOT] / rates[BARE]],
        [ALONE, rates[ALONE], 1.0],
        [TEXT, rates[TEXT], rates[TEXT] / rates[ALONE]],
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
            columns=("what", "events/s", "ratio"),
            rows=rows,
            targets=targets,
        )
    ]


def _given(bench: Bench) -> dict[str, float]:
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


def _embedded(bench: Bench) -> dict[str, float]:
    encoder, count = load_encoder(ENCODER), bench.sizes.embedded
    texts = [bench.talk.turn(number).text for number in range(count)]

    def alone(_turn: int) -> float:
        return count / sum(
            took(encoder.encode, texts[at : at + _BATCH]) for at in range(0, count, _BATCH)
        )

    with seedmem_side(bench, ENCODER) as seedmem:
        return _in_turns(
            bench, {ALONE: alone, TEXT: lambda turn: _rate(bench, seedmem, count, None, turn)}
        )


def _in_turns(bench: Bench, rates: dict[str, Callable[[int], float]]) -> dict[str, float]:
    found: dict[str, list[float]] = {name: [] for name in rates}
    for turn in range(bench.sizes.ingest_rounds):
        for name, rate in rates.items():
            bench.progress(f"ingest: {name}, round {turn + 1}")
            found[name].append(rate(turn))
    return {name: median(each) for name, each in found.items()}


def _rate(
    bench: Bench, side: Side, count: int, dim: int | None, turn: int, *, hot: bool = False
) -> float:
    """Return events per second that a worker takes in, all of them waiting when it begins."""
    tag = f"{'hot' if hot else 'cold'}-{turn}"
    made = flood.events(bench.talk, count, dim=dim, tag=tag)
    for number in range(flood.USERS if hot else 0):
        side.client.ask(flood.user_id(tag, number), "hello?", deadline_ms=30_000)
    until = side.taken_in + count
    with side.program.paused():
        flood.produce(side.settings.kafka, side.topic, made)
    return side.rate_until(until, timeout=PATIENCE)
