"""Ports of 127.0.0.1: which are free, which we had last time, and whether a server answers."""

import random
import socket
from pathlib import Path

from streams.errors import StartError

# Outside of every system's range for outgoing connections: there a client that retries while its
# server is away can connect to itself and so keep the server's port.
_RANGE = range(20_000, 32_000)


def kept_ports(file: Path, count: int) -> list[int]:
    """Return ``count`` free ports: those that ``file`` keeps from the last call, where still free.

    Raises:
        StartError: there are not so many free ports.
    """
    kept = [int(word) for word in file.read_text().split()] if file.exists() else []
    ports: list[int] = []
    for index in range(count):
        tries = [*kept[index : index + 1], *random.sample(_RANGE, 200)]
        found = next((port for port in tries if port not in ports and is_free(port)), None)
        if found is None:
            raise StartError(f"no free port on 127.0.0.1 from {_RANGE[0]} to {_RANGE[-1]}")
        ports.append(found)
    file.write_text(" ".join(str(port) for port in ports))
    return ports


def required_port(port: int) -> int:
    """Return ``port``. Raises ``StartError`` when somebody listens on it."""
    if not is_free(port):
        raise StartError(f"port {port} is taken; stop what listens there, or choose another port")
    return port


def is_free(port: int) -> bool:
    """Say whether a server could listen on this port of 127.0.0.1."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def answers(port: int, *, send: bytes = b"", expect: bytes = b"") -> bool:
    """Say whether a server on ``port`` takes a connection and answers ``expect`` to ``send``."""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1.0) as connection:
            connection.sendall(send)
            return connection.recv(len(expect)) == expect if expect else True
    except OSError:
        return False
