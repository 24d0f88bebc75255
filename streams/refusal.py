"""Why an event is refused."""

from enum import StrEnum

from streams.errors import StreamsError


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
    """The event is on a partition that its user does not belong to."""
    UNKNOWN_REQUEST = "unknown-request"
    """``memory-recalled`` names a request whose text is not known any more."""
    FULL = "full"
    """The user has as many records as ``SEEDMEM_USER_RECORDS`` allows."""
    HANDLER = "handler"
    """The handler failed on this event alone, three times. A fault of this service."""


class RefusedError(StreamsError):
    """An event cannot be applied, ever: it goes to the dead-letter topic."""

    def __init__(self, reason: Reason, detail: str, *, field: str = "$") -> None:
        self.reason, self.detail, self.field = reason, detail, field
        super().__init__(f"{reason}: {detail} (at {field})")
