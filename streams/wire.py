"""Bytes ↔ events, and why a payload is refused.

Of duplicate keys the last one counts. A lone surrogate (``"\\ud83d"``) becomes
U+FFFD: it is valid JSON, but no UTF-8.
"""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from streams.events import MAX_ID_BYTES, Event, Moment
from streams.refusal import Reason, RefusedError

E = TypeVar("E", bound=msgspec.Struct)

_SURROGATE_ESCAPE = re.compile(rb"\\u[dD][89a-fA-F]")
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
_POINTER = re.compile(r" - at `([^`]*)`$")


def encode(event: msgspec.Struct) -> bytes:
    """Return ``event`` as JSON in UTF-8; lone surrogates become U+FFFD."""
    try:
        return msgspec.json.encode(event)
    except UnicodeEncodeError:
        return msgspec.json.encode(_clean(msgspec.to_builtins(event)))


def decode(payload: bytes | None, kind: type[E]) -> E:
    """Return the event that ``payload`` holds.

    Raises:
        RefusedError: it is not JSON, or does not fit ``kind``; ``field`` points at the fault.
    """
    if not payload:
        raise RefusedError(Reason.MALFORMED, f"payload is {'null' if payload is None else 'empty'}")
    try:
        if _SURROGATE_ESCAPE.search(payload):
            event = msgspec.convert(_clean(json.loads(payload, parse_constant=_no_constant)), kind)
        else:
            event = msgspec.json.decode(payload, type=kind)
    except msgspec.ValidationError as error:
        raise _refusal(error) from error
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise RefusedError(Reason.MALFORMED, str(error)) from error
    if isinstance(event, Event):
        _check_ids(event)
    return event


def key_of(user_id: str) -> bytes:
    """Return the Kafka key of a user's events."""
    return _clean_text(user_id).encode()


def seconds(moment: Moment | None, *, field: str) -> float | None:
    """Return ``moment`` in seconds since the epoch. Raises ``RefusedError`` if it is no time."""
    if moment is None or isinstance(moment, int | float):
        return None if moment is None else float(moment)
    try:
        parsed = datetime.fromisoformat(moment)
    except ValueError as error:
        raise RefusedError(
            Reason.SCHEMA, f"want ISO 8601 or seconds, got {moment[:40]!r}", field=f"$.{field}"
        ) from error
    return (parsed if parsed.tzinfo else parsed.replace(tzinfo=UTC)).timestamp()


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _check_ids(event: Event) -> None:
    for name, value in event.ids().items():
        size = len(value.encode())
        if size > MAX_ID_BYTES:
            detail = f"id has {size} bytes, want at most {MAX_ID_BYTES}"
            raise RefusedError(Reason.SCHEMA, detail, field=f"$.{name}")


def _refusal(error: msgspec.ValidationError) -> RefusedError:
    message = str(error)
    at = _POINTER.search(message)
    field = at.group(1) if at else "$"
    return RefusedError(Reason.SCHEMA, _POINTER.sub("", message), field=field)


def _clean(value: object) -> object:
    if isinstance(value, str):
        return _clean_text(value)
    if isinstance(value, dict):
        return {_clean_text(str(name)): _clean(item) for name, item in value.items()}
    if isinstance(value, Sequence):
        return [_clean(item) for item in value]
    return value


def _clean_text(text: str) -> str:
    return _LONE_SURROGATE.sub("\ufffd", text)
