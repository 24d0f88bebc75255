"""The event contract: what each topic carries.

Events are JSON objects in UTF-8; the Kafka key is the raw user id. Unknown
fields are ignored and only optional fields may ever be added. ``wire`` has
the way from bytes to an event and back.
"""

from enum import StrEnum
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from streams.refusal import Reason

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
Cause = Literal["pairs", "growth", "schedule", "asked"]
"""Why an adapter is fitted anew: enough pairs for the first time, many more of them, the time,
or somebody."""


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


class UserErased(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Everything of the user must go; the receipt names ``request_id``."""

    request_id: Id


class EraseReceipt(msgspec.Struct, frozen=True, kw_only=True):
    """What was deleted of a user, and the proof: what a second look still finds."""

    request_id: str
    user_id: str
    deleted: dict[str, int]
    """Entries by store; empty when the erasure was read again."""
    found: int
    """Memories found afterwards: 0, unless newer ones have come meanwhile."""


class AdapterRetrain(Event, frozen=True, kw_only=True, omit_defaults=True):
    """The user's adapter shall be fitted anew; one with a known ``request_id`` is not, again."""

    request_id: Id
    reason: Cause = "asked"


class AdapterPromoted(Event, frozen=True, kw_only=True, omit_defaults=True):
    """Another version of the user's adapter serves from now on; 0 is none."""

    version: Version
    generation: str
    """The vector space that it bends queries of."""


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
