"""Over Kafka: a question and its reply, against an agent that only echoes; idle and in a flood."""

import time

from benchmarks import flood
from benchmarks.bench import Bench
from benchmarks.data import vectors
from benchmarks.report import Cell, Result, Target
from benchmarks.sides import DIM, USER, Side, both_sides, checked, remember
from benchmarks.states import K
from benchmarks.timing import Latency, Timed, took

SEEDMEM, ECHO = "seedmem", "bare Faust echo"
_WARM = 50  # questions before the first that is timed
_PATIENCE = 300.0  # seconds until a flood must have been taken in
_BETWEEN = 10  # questions between two looks at how far the flood is
_DEADLINE = 30_000  # ms of one question: a late answer is a figure too


class _Asker:
    """Asks ``USER``'s questions, each another."""

    def __init__(self, bench: Bench) -> None:
        self._talk, self._vectors = bench.talk, vectors(bench.sizes.asks, DIM, seed=3)

    def ask(self, side: Side, number: int) -> None:
        """Ask one and wait for its answer."""
        text, vector = self._talk.question(number), self._vectors[number % len(self._vectors)]
        checked(side.client.ask(USER, text, vector=vector, k=K, deadline_ms=_DEADLINE))


def measure(bench: Bench) -> list[Result]:
    """Return p50 and p99, idle and in a flood of memories."""
    with both_sides(bench) as (seedmem, echo):
        bench.progress("roundtrip: one user's memories")
        remember(seedmem.client, bench)
        sides = {SEEDMEM: seedmem, ECHO: echo}
        bench.progress("roundtrip: idle")
        idle = _idle(sides, bench)
        flooded = {}
        for name, side in sides.items():
            bench.progress(f"roundtrip: {name} in a flood")
            flooded[name] = _flooded(side, bench)
    return [_result(bench, idle, flooded)]


def _idle(sides: dict[str, Side], bench: Bench) -> dict[str, Timed]:
    """Ask all in turns; ``cpu`` is the worker's for one question."""
    asker = _Asker(bench)
    times: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(_WARM):
        for side in sides.values():
            asker.ask(side, number)
    before = {name: side.cpu for name, side in sides.items()}
    for number in range(bench.sizes.asks):
        for name, side in sides.items():
            times[name].append(took(asker.ask, side, number))
    return {
        name: Timed(*Latency.of(each), 1e3 * (sides[name].cpu - before[name]) / len(each))
        for name, each in times.items()
    }


def _flooded(side: Side, bench: Bench) -> Latency:
    """Ask for as long as memories come in, from the first that has taken effect on."""
    asker, times = _Asker(bench), list[float]()
    made = flood.events(bench.talk, bench.sizes.flood, dim=DIM, tag="flood")
    before, until = side.taken_in, time.monotonic() + _PATIENCE
    with flood.producing(side.settings.kafka, side.topic, made):
        while side.taken_in == before and _in_time(until):
            asker.ask(side, 0)
        while side.taken_in < before + len(made) and _in_time(until):
            first = len(times)
            times += [took(asker.ask, side, number) for number in range(first, first + _BETWEEN)]
    return Latency.of(times)


def _in_time(until: float) -> bool:
    if time.monotonic() > until:
        raise TimeoutError(f"the flood was not taken in within {_PATIENCE:g} s")
    return True


def _result(bench: Bench, idle: dict[str, Timed], flooded: dict[str, Latency]) -> Result:
    base, rows = idle[ECHO].p50, list[list[Cell]]()
    for name, timed in idle.items():
        rows.append([name, "idle", timed.p50, timed.p99, timed.p50 / base, timed.cpu])
    for name, latency in flooded.items():
        rows.append([name, "in the flood", latency.p50, latency.p99, latency.p50 / base, "-"])
    sizes = bench.sizes
    note = (
        f"From `Client.ask` to its return, one question at a time, vectors given ({DIM} "
        f"dimensions), one hot user of {sizes.memories:,} memories and {sizes.subjects} "
        f"subjects, k = {K}; {bench.talk.source}; {sizes.asks} questions to each in turns while "
        f"idle, then for as long as {sizes.flood:,} memories of {flood.USERS} other users come "
        "in. Broker, Redis, workers and client share one machine."
    )
    targets = (
        Target(
            claim="idle p50 against the echo's",
            value=idle[SEEDMEM].p50 / idle[ECHO].p50,
            bound=1.5,
        ),
        Target(
            claim="p99 in the flood against the idle p99",
            value=flooded[SEEDMEM].p99 / idle[SEEDMEM].p99,
            bound=3.0,
        ),
    )
    return Result(
        name="roundtrip",
        title="A question over Kafka",
        note=note,
        columns=("what", "when", "p50 ms", "p99 ms", "p50 × idle echo", "worker's CPU ms"),
        rows=rows,
        targets=targets,
    )
