"""The event contract: bytes ↔ typed events, and why a payload is refused.

Events are JSON objects in UTF-8; the Kafka key is the raw user id. Unknown
fields are ignored and only optional fields may ever be added. Of duplicate
keys the last one counts. A lone surrogate (``"\\ud83d"``) becomes U+FFFD.
"""

import json
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Literal, TypeVar

import msgspec
from msgspec import Meta

from streams.errors import StreamsError

MAX_ID_BYTES = 256
MAX_VERSION = 2**53 - 1  # the largest integer that Redis scripts hold exactly
MAX_HITS = 1_000
MAX_DEADLINE_MS = 600_000

Id = Annotated[str, Meta(min_length=1)]
Version = Annotated[int, Meta(ge=0, le=MAX_VERSION)]
Wire = str | list[float]
"""A vector in an event: base64 of little-endian float32, or the numbers."""
Moment = str | float
"""Seconds since the epoch, or ISO 8601 (UTC where no offset is given)."""
Scalar = str | float | bool | None


class Reason(StrEnum):
    """Why an event is refused; a label of the dead-letter metric, so the set is closed."""

    MALFORMED = "malformed"
    """Not JSON, not UTF-8, or empty."""
    SCHEMA = "schema"
    """JSON, but a field is missing or of another type or range."""
    TEXT = "text"
    """The text is empty or invisible, or cannot be encoded."""
    VECTOR = "vector"
    """The vector has another length, no direction, or a component that is not finite."""
    SPACE = "space"
    """The vector comes from another encoder than this service's."""
    KEY = "key"
    """The Kafka key is missing or is not the user id."""
    PARTITION = "partition"
    """The event is on a partition of another owner and was forwarded once already."""
    UNKNOWN_REQUEST = "unknown-request"
    """``memory-recalled`` names a request whose text is not known any more."""
    HANDLER = "handler"
    """The handler failed on this event alone, three times. A fault of this service."""


class RefusedError(StreamsError):
    """An event cannot be applied, ever: it goes to the dead-letter topic."""

    def __init__(self, reason: Reason, detail: str, *, field: str = "$") -> None:
        self.reason, self.detail, self.field = reason, detail, field
        super().__init__(f"{reason}: {detail} (at {field})")


class Event(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Base of what producers send: everything belongs to one user."""

    user_id: Id

    def ids(self) -> dict[str, str]:
        """Return the fields that hold ids, to be checked for their length."""
        return {
            name: value
            for name in self.__struct_fields__
            if name.endswith("_id") and isinstance(value := getattr(self, name), str)
        }


class MemoryCreated(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A memory is new, changed, or (``deleted``) gone."""

    memory_id: Id
    text: str = ""
    version: Version | None = None
    created_at: Moment | None = None
    session_id: str | None = None
    role: str | None = None
    vector: Wire | None = None
    encoder: str | None = None
    metadata: dict[str, Scalar] = {}
    deleted: bool = False


class RelationFound(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """One edge between two subjects, read off one memory."""

    subject: str
    predicate: str
    object: str
    memory_id: Id
    pseudo_queries: list[str] = []


class SubjectExtracted(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A subject with the whole set of memories that it links, or its tombstone."""

    subject_id: Id
    name: str = ""
    type: str | None = None
    memory_ids: list[Id] = []
    version: Version | None = None
    vector: Wire | None = None
    encoder: str | None = None
    deleted: bool = False
    relations: list[RelationFound] = []


class After(msgspec.Struct, frozen=True, kw_only=True):
    """A read-your-writes token: the place of an event that must have been applied."""

    topic: str
    partition: Annotated[int, Meta(ge=0)]
    offset: Annotated[int, Meta(ge=0)]


class Filters(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a hit must match. Empty means everything."""

    subjects: list[str] = []
    sessions: list[str] = []
    since: Moment | None = None
    until: Moment | None = None


class QueryAsked(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A question, by text or by vector or by both."""

    request_id: Id
    text: str | None = None
    vector: Wire | None = None
    encoder: str | None = None
    k: Annotated[int, Meta(ge=1)] = 10
    mode: Literal["lookup", "association"] = "lookup"
    after: After | None = None
    as_of: Moment | None = None
    filters: Filters = Filters()
    deadline_ms: Annotated[int, Meta(ge=1, le=MAX_DEADLINE_MS)] | None = None
    reply_topic: str | None = None
    reply_partition: Annotated[int, Meta(ge=0)] | None = None
    explain: bool = False


class MemoryRecalled(Event, frozen=True, kw_only=True, omit_defaults=True):
    """A memory was used, or rejected, as the answer to a question: supervision."""

    memory_id: Id
    request_id: str | None = None
    query: str | None = None
    outcome: Literal["used", "rejected"] = "used"
    recalled_at: Moment | None = None


class Status(StrEnum):
    """How a query ended."""

    OK = "ok"
    PARTIAL = "partial"
    """Answered without a leg; ``missing`` names it."""
    NOT_READY = "not-ready"
    """The user's state could not be loaded within the deadline. Ask again."""
    INVALID = "invalid"
    FAILED = "failed"


class WireHit(msgspec.Struct, frozen=True, kw_only=True):
    """One memory of an answer; ``parts`` add up to ``score``."""

    memory_id: str
    text: str
    score: float
    tier: str
    parts: dict[str, float]


class QueryReply(msgspec.Struct, frozen=True, kw_only=True):
    """The one reply to a query."""

    request_id: str
    user_id: str
    status: Status
    hits: list[WireHit] = []
    confidence: float = 0.0
    abstained: bool = False
    generation: str = ""
    adapter_version: int = 0
    took_ms: float = 0.0
    missing: list[str] = []
    reason: str | None = None
    timings: dict[str, float] | None = None


class DeadLetter(msgspec.Struct, frozen=True, kw_only=True):
    """An event that was refused: where it was, why, and its bytes (base64)."""

    topic: str
    partition: int
    offset: int
    reason: Reason
    field: str
    detail: str
    key: bytes | None
    value: bytes | None


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
