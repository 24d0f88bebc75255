"""One server process of ours: started, watched, stopped; never left behind."""

import fcntl
import os
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from streams.errors import StartError

# Ends $1 when we die: then the pipe that is its standard input closes. 10: seconds to stop in.
_GUARD = """
read -r _
kill -TERM "$1" 2>/dev/null
for _ in 1 2 3 4 5 6 7 8 9 10; do
    kill -0 "$1" 2>/dev/null || exit 0
    sleep 1
done
kill -KILL "$1" 2>/dev/null
"""

_LOG_LINES = 15  # of an error
_LOCK_WAIT = 12.0  # seconds; a server whose owner died has 10 to stop in


class DirectoryLock:
    """The right to run servers in a data directory.

    The servers inherit it, so it is free again only when its owner and they have ended.
    """

    def __init__(self, data_dir: Path) -> None:
        self._data_dir = data_dir
        self._descriptor: int | None = None

    def take(self) -> int:
        """Return the descriptor to hand to servers. Makes the directory where missing.

        Raises:
            StartError: somebody else keeps the lock for longer than a server takes to stop.
        """
        if self._descriptor is None:
            self._data_dir.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self._data_dir / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            if not _locked(descriptor):
                os.close(descriptor)
                raise StartError(
                    f"{self._data_dir} is in use by another process; stop that one, "
                    "or choose another data directory"
                )
            self._descriptor = descriptor
        return self._descriptor

    def release(self) -> None:
        """Give it back. Does nothing twice."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None


class ServerProcess:
    """A server that ends when we end, however that happens.

    It is in a session of its own, so Ctrl-C in the terminal reaches us and not it. Its
    output is added to ``log``.
    """

    def __init__(self, name: str, log: Path) -> None:
        self.name, self.log = name, log
        self._process: subprocess.Popen[bytes] | None = None
        self._guard: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        """The process id. Raises ``StartError`` when it was not started."""
        return self._started.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def start(
        self,
        command: Sequence[str | Path],
        *,
        lock: int,
        variables: Mapping[str, str] | None = None,
    ) -> None:
        """Start ``command``, which inherits the descriptor ``lock``.

        Args:
            command: the program and its arguments.
            lock: of its data directory.
            variables: what to add to our own environment.

        Raises:
            StartError: the program cannot be run.
        """
        self.kill()  # what is left of a process that ended by itself
        if variables:
            pairs = (f"{name}={value}" for name, value in variables.items())
            command = ["/usr/bin/env", *pairs, *command]
        try:
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    command,
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,
                    pass_fds=[lock],
                )
        except OSError as error:
            raise StartError(f"{self.name} cannot run {command[0]}: {error}") from error
        self._guard = subprocess.Popen(
            ["/bin/sh", "-c", _GUARD, "guard", str(self._process.pid)],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )

    def wait_until(self, ready: Callable[[], bool], *, timeout: float) -> None:
        """Return when ``ready()`` is true; ``timeout`` is in seconds.

        Raises:
            StartError: the process ended, or was not ready in time; it is killed, and
                the error carries the last lines of its log.
        """
        deadline = time.monotonic() + timeout
        while not ready():
            if not self.running:
                raise self._failure("ended at start")
            if time.monotonic() > deadline:
                raise self._failure(f"was not ready after {timeout:g} s")
            time.sleep(0.05)

    def finish(self, *, timeout: float) -> None:
        """Return when the process has ended well. Raises ``StartError`` as ``wait_until`` does."""
        try:
            code = self._started.wait(timeout)
        except subprocess.TimeoutExpired as error:
            raise self._failure(f"did not finish within {timeout:g} s") from error
        if code != 0:
            raise self._failure(f"ended with code {code}")
        self.kill()

    def terminate(self) -> None:
        """Ask it to stop, and do not wait."""
        if self._process is not None:
            self._process.terminate()

    def stop(self, *, timeout: float) -> int | None:
        """Let it stop by itself; kill it after ``timeout`` seconds. Does nothing twice.

        Returns:
            Its exit code, -9 if it had to be killed; None if it was not running.
        """
        self.terminate()
        process = self._process
        if process is not None:
            with suppress(subprocess.TimeoutExpired):
                process.wait(timeout)
        self.kill()
        return process.returncode if process else None

    def kill(self) -> None:
        """End it at once with SIGKILL, as a crash does. Does nothing twice."""
        for process in (self._process, self._guard):  # the guard last: it watches the server
            if process is not None:
                process.kill()
                process.communicate()  # waits, and closes the guard's pipe
        self._process = self._guard = None

    @property
    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            raise StartError(f"{self.name} is not running; start it first")
        return self._process

    def _failure(self, what: str) -> StartError:
        self.kill()
        lines = self.log.read_text(errors="replace").splitlines()[-_LOG_LINES:]
        return StartError("\n".join([f"{self.name} {what}; the end of {self.log}:", *lines]))


def _locked(descriptor: int) -> bool:
    """Say whether we got the lock of an open file within ``_LOCK_WAIT``."""
    deadline = time.monotonic() + _LOCK_WAIT
    while time.monotonic() < deadline:
        with suppress(BlockingIOError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        time.sleep(0.1)
    return False
