"""The file by which commands find a ``seedmem up`` that runs in this directory.

``up`` holds a lock on it for as long as it lives, so a file that a killed one left
behind is known to be stale, also when its process id has been taken by another.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from streams.settings import Settings

DATA = Path(".seedmem")
"""Where ``up`` keeps its data, and commands look for its file, unless told otherwise."""

_FILE = "service.json"


class Running(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach a local service. The names are those of ``Settings``, except ``pid``."""

    kafka: str
    redis: str
    namespace: str
    partitions: int
    encoder: str
    pid: int

    def settings(self) -> dict[str, object]:
        """Return the settings that a command takes over."""
        return {name: value for name, value in msgspec.to_builtins(self).items() if name != "pid"}


def find(data: Path) -> Running | None:
    """Return the service whose data directory is ``data``, or None if none runs there."""
    try:
        file = (data / _FILE).open("rb")
    except FileNotFoundError:
        return None
    with file:
        try:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:  # its process lives
            return msgspec.json.decode(file.read(), type=Running)
    return None


@contextmanager
def announced(data: Path, settings: Settings) -> Iterator[Running]:
    """Let commands find the service of ``settings`` while the block runs."""
    fields = {name: getattr(settings, name) for name in Running.__struct_fields__ if name != "pid"}
    running = Running(**fields, pid=os.getpid())
    path = data / _FILE
    with path.open("wb") as file:
        file.write(msgspec.json.encode(running))
        file.flush()
        fcntl.flock(file, fcntl.LOCK_EX)
        try:
            yield running
        finally:
            path.unlink()
