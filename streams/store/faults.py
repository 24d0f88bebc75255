"""Redis errors: which pass by themselves, and which end the process."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

from redis.exceptions import (
    AuthenticationError,
    AuthorizationError,
    ConnectionError,
    RedisError,
    TimeoutError,
)

from streams.errors import (
    ForeignRecordError,
    StoreRefusedError,
    StoreUnavailableError,
    StreamsError,
    TransientError,
)

_PASSING = re.compile(
    r"\b(OOM|LOADING|BUSY|READONLY|MISCONF|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|UNBLOCKED)\b"
)
"""Codes of replies that a later call may not get. Servers before 7.0 wrap them when the command
ran inside a script, so they are looked for anywhere in the message."""


def is_transient(error: BaseException) -> bool:
    """Say whether the same call may succeed later, without anybody changing a setting."""
    if isinstance(error, AuthenticationError | AuthorizationError):
        return False  # redis-py counts them as connection errors
    if isinstance(error, ConnectionError | TimeoutError | TransientError | OSError):
        return True
    return isinstance(error, RedisError) and bool(_PASSING.search(str(error)))


def translate(error: RedisError) -> StreamsError:
    """Return ``error`` in the words of this service."""
    if str(error).startswith("FOREIGN"):
        return ForeignRecordError(
            "a user's meta key holds another user id: two ids share a hash, or keys were moved"
        )
    kind = type(error).__name__
    if is_transient(error):
        return StoreUnavailableError(f"Redis cannot serve now ({kind}: {error})")
    return StoreRefusedError(f"Redis refuses ({kind}: {error}); check its URL, login and rights")


@contextmanager
def translated() -> Iterator[None]:
    """Raise what Redis raises inside as an error of this service."""
    try:
        yield
    except RedisError as error:
        raise translate(error) from error
