"""A worker in a process of its own: started, paused, read, stopped."""

import os
import signal
import sys
import time
import urllib.request
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import msgspec
from prometheus_client.parser import text_string_to_metric_families

from streams.local.ports import answers, kept_ports
from streams.local.process import DirectoryLock, ServerProcess
from streams.settings import Settings

_READY = 120.0  # seconds until a worker must be ready
_STOP = 30.0  # seconds until it is killed
_LOOK = 0.25  # seconds between two looks at a counter, which cost the worker time


class Program:
    """A worker that serves ``/ready`` and ``/metrics``."""

    def __init__(self, command: Sequence[str], settings: Settings, directory: Path) -> None:
        [self._port] = kept_ports(directory / "port", 1)
        self.settings = msgspec.structs.replace(settings, health_port=self._port)
        self._command = command
        self._lock = DirectoryLock(directory)
        self._process = ServerProcess("worker", directory / "worker.log")

    def start(self) -> None:
        """Start it and return when it is ready."""
        variables = self.settings.to_env()
        self._process.start(list(self._command), lock=self._lock.take(), variables=variables)
        self._process.wait_until(self._is_ready, timeout=_READY)

    def stop(self) -> None:
        """Stop it. Does nothing twice."""
        self._process.stop(timeout=_STOP)

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Hold it still during the block."""
        os.kill(self._process.pid, signal.SIGSTOP)
        try:
            yield
        finally:
            os.kill(self._process.pid, signal.SIGCONT)

    def metric(self, name: str, **labels: str) -> float:
        """Return the sum of a metric's samples that have these labels."""
        with urllib.request.urlopen(f"http://127.0.0.1:{self._port}/metrics", timeout=30) as reply:
            families = text_string_to_metric_families(reply.read().decode())
        return sum(
            sample.value
            for family in families
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        )

    def follow(self, name: str, until: float, *, timeout: float, **labels: str) -> float:
        """Return the rate per second of a counter that rises to ``until``.

        It is the slope between the first and the last look that saw it rise; the whole time,
        if there are no two.

        Raises:
            TimeoutError: it does not get there.
        """
        began = time.perf_counter()
        looks = [(began, self.metric(name, **labels))]
        while looks[-1][1] < until:
            if looks[-1][0] - began > timeout:
                got = looks[-1][1]
                raise TimeoutError(f"{name} is {got:g} after {timeout:g} s, want {until:g}")
            time.sleep(_LOOK)
            value = self.metric(name, **labels)
            looks.append((time.perf_counter(), value))
        rising = [look for look in looks if looks[0][1] < look[1] < until]
        (since, first), (to, last) = (rising[0], rising[-1]) if len(rising) > 1 else (
            looks[0], looks[-1],
        )  # fmt: skip
        return (last - first) / (to - since)

    def _is_ready(self) -> bool:
        return answers(self._port, send=b"GET /ready HTTP/1.0\r\n\r\n", expect=b"HTTP/1.0 200")


@contextmanager
def seedmem_worker(settings: Settings, directory: Path) -> Iterator[Program]:
    """Yield ``seedmem worker``, not started."""
    yield from _ended([sys.executable, "-m", "streams.cli", "worker"], settings, directory)


@contextmanager
def bare_worker(settings: Settings, directory: Path) -> Iterator[Program]:
    """Yield ``benchmarks.bare``, not started."""
    yield from _ended([sys.executable, "-m", "benchmarks.bare"], settings, directory)


def _ended(command: Sequence[str], settings: Settings, directory: Path) -> Iterator[Program]:
    program = Program(command, settings, directory)
    try:
        yield program
    finally:
        program.stop()
