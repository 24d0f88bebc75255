"""Latencies of several ways to do one thing, taken in turns."""

import time
from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

import numpy as np

Call = Callable[[int], object]


class Latency(NamedTuple):
    """In milliseconds."""

    p50: float
    p99: float

    @classmethod
    def of(cls, seconds: Iterable[float]) -> "Latency":
        """Return the percentiles of single times."""
        p50, p99 = np.percentile(list(seconds), (50, 99)) * 1e3
        return cls(float(p50), float(p99))


class Timed(NamedTuple):
    """In milliseconds. ``cpu`` is the p50 of what the process computed, all threads together.

    On a machine that others use too, waiting for one's turn is in ``p50`` and not in ``cpu``.
    """

    p50: float
    p99: float
    cpu: float

    @classmethod
    def of(cls, runs: Iterable[tuple[float, float]]) -> "Timed":
        """Return the percentiles of runs, (seconds, CPU seconds) each."""
        seconds, computed = zip(*runs, strict=True)
        return cls(*Latency.of(seconds), Latency.of(computed).p50)


def timed(call: Callable[..., object], *arguments: object) -> tuple[float, float]:
    """Return the seconds and the CPU seconds that ``call`` takes."""
    computed = time.process_time()
    seconds = took(call, *arguments)
    return seconds, time.process_time() - computed


def took(call: Callable[..., object], *arguments: object) -> float:
    """Return the seconds that ``call`` takes."""
    started = time.perf_counter()
    call(*arguments)
    return time.perf_counter() - started


def interleaved(calls: Mapping[str, Call], *, count: int, rounds: int) -> dict[str, Timed]:
    """Return the latency of each call: the medians, over the rounds, of a round's percentiles.

    A round times ``count`` runs of each call, one call after another. A run gets a number that
    no earlier round had; a round that is not timed goes first.
    """
    found: dict[str, list[Timed]] = {name: [] for name in calls}
    for turn in range(-1, rounds):
        numbers = range((turn + 1) * count, (turn + 2) * count)
        for name, call in calls.items():
            runs = Timed.of(timed(call, number) for number in numbers)
            if turn >= 0:
                found[name].append(runs)
    return {name: Timed(*np.median(each, axis=0).tolist()) for name, each in found.items()}
