"""Whether a broker listens at all, before a client of kafka-python is made.

Its constructors try for long and, when they fail, leave a thread and sockets behind.
"""

import socket

from streams.errors import TransientError

_CONNECT = 3.0  # seconds for each server


def require_broker(kafka: str) -> None:
    """Return when one of the bootstrap servers ``kafka`` takes a connection.

    Raises:
        TransientError: none does; says why and what to do.
    """
    from kafka.cluster import collect_hosts

    reasons = []
    for host, port, _family in collect_hosts(kafka):
        try:
            socket.create_connection((host, port), timeout=_CONNECT).close()
        except OSError as error:
            reasons.append(f"{host}:{port}: {error}")
        else:
            return
    raise TransientError(
        f"no Kafka at {kafka} ({'; '.join(reasons)}); "
        "start one with: seedmem up, or set SEEDMEM_KAFKA"
    )
