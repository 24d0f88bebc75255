"""A whole service on this machine: Kafka, Redis and workers, started and stopped together."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from importlib.util import find_spec
from pathlib import Path
from types import FrameType

import msgspec

from streams import topics
from streams.errors import StartError
from streams.local import LocalKafka, LocalRedis
from streams.local.ports import answers, kept_ports
from streams.local.process import DirectoryLock, ServerProcess
from streams.settings import Role, Settings

_COMMAND = (sys.executable, "-m", "streams.cli", "worker")

_READY = 120.0  # seconds; a worker loads its encoder first, and the machine may be busy
_STOP = 25.0  # seconds; what a worker may take to finish what it has in hand

Progress = Callable[[str], None]


def can_learn() -> bool:
    """Return whether torch is installed, so that a retrain worker can run here."""
    return find_spec("torch") is not None


class StoppedError(BaseException):
    """Ctrl-C or SIGTERM. Not an ``Exception``: nothing on the way out may take it for a failure."""


class Workers:
    """The worker processes of a service, one for each role."""

    def __init__(self, data: Path, settings: Settings, *, learns: bool) -> None:
        roles: tuple[Role, ...] = ("serve", "extract", *(("retrain",) if learns else ()))
        self._lock = DirectoryLock(data)
        self._data, self._settings = data, settings
        self._processes = {
            role: ServerProcess(f"worker {role}", data / f"{role}.log") for role in roles
        }

    def start(self, progress: Progress) -> None:
        """Start them all and return when each is ready. Raises ``StartError``."""
        lock = self._lock.take()
        free = kept_ports(self._data / "ports", len(self._processes))
        ports = dict(zip(self._processes, free, strict=True))
        progress("starting the workers")
        for role, process in self._processes.items():
            own = msgspec.structs.replace(self._settings, role=role, health_port=ports[role])
            process.start(_COMMAND, lock=lock, variables=own.to_env())
        for role, process in self._processes.items():
            process.wait_until(_is_ready(ports[role]), timeout=_READY)
            progress(f"worker {role} is ready")

    def check(self) -> None:
        """Raise ``StartError`` when one has ended by itself."""
        for process in self._processes.values():
            if not process.running:
                raise StartError(f"{process.name} has ended; see {process.log}")

    def stop(self) -> None:
        """Let all of them finish what they have in hand. Does nothing twice."""
        for process in self._processes.values():
            process.terminate()
        for process in self._processes.values():
            process.stop(timeout=_STOP)
        self._lock.release()


@contextmanager
def running(
    data: Path, settings: Settings, progress: Progress, *, learns: bool
) -> Iterator[tuple[Settings, Workers]]:
    """Run a service in ``data`` while the block runs, with ``settings`` for all but its addresses.

    Args:
        learns: whether a retrain worker runs, which needs torch.

    Raises:
        MissingToolError, StartError: a part cannot be started; those before it are stopped.
        TopicsError: ``data`` holds topics with another number of partitions.
    """
    with ExitStack() as stack:
        kafka = stack.enter_context(LocalKafka(data / "kafka", progress=progress))
        redis = stack.enter_context(LocalRedis(data / "redis", progress=progress))
        settings = msgspec.structs.replace(settings, kafka=kafka.bootstrap, redis=redis.url)
        topics.create(settings)
        workers = Workers(data / "workers", settings, learns=learns)
        stack.callback(workers.stop)
        workers.start(progress)
        yield settings, workers


@contextmanager
def stoppable() -> Iterator[None]:
    """Turn the first Ctrl-C or SIGTERM into ``StoppedError``; ignore the next ones."""
    signals = (signal.SIGINT, signal.SIGTERM)

    def stop(_signal: int, _frame: FrameType | None) -> None:
        for number in signals:
            signal.signal(number, signal.SIG_IGN)
        raise StoppedError

    before = {number: signal.signal(number, stop) for number in signals}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _is_ready(port: int) -> Callable[[], bool]:
    request = b"GET /ready HTTP/1.0\r\n\r\n"
    return lambda: answers(port, send=request, expect=b"HTTP/1.0 200")
