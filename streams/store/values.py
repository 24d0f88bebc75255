"""What is written to the store and read from it: fields, writes, stored values.

A field of a user's hash is one letter for its kind, then the id. A stored value
is a header in ASCII, ``version arrival sequence born `` (version ``-``: none
was ever given), then the payload. An empty payload is a tombstone. Payloads
are opaque here: ``streams.records`` knows them.
"""

from dataclasses import dataclass
from typing import NamedTuple

from streams.errors import DamagedRecordError

MEMORY, SUBJECT, NAME, PAIR, EXTRACTED = b"m", b"s", b"n", b"p", b"x"
"""Kinds of fields: memories, subjects, vectors of subject names, supervision pairs, and what
the extractor emitted for a memory."""

ERASED = b"e"
"""Kind of the fence that erasures themselves stand behind; it has no fields."""

TOMBSTONE = b""
"""The payload that buries an id."""

SEQUENCE = b"#sequence"
"""The field that counts a hash's accepted writes."""


def field(kind: bytes, id: str) -> bytes:
    """Return the field of ``id``, any text that UTF-8 can encode."""
    return kind + id.encode()


def id_of(field: bytes) -> str:
    """Return the id that ``field`` was made of."""
    return field[1:].decode()


@dataclass(frozen=True, slots=True)
class Write:
    """One event's claim on one field."""

    user_id: str
    field: bytes
    version: int | None
    """The producer's, not negative. None: whatever is stored keeps its version."""
    arrival: int
    """Offset of the event; not negative. Settles what versions do not."""
    payload: bytes


class Placed(NamedTuple):
    """Where an accepted write stands among its user's writes."""

    sequence: int
    """Number of the write."""
    born: int
    """Number of the write that first made the id, or brought it back from a tombstone."""


FULL = Placed(-1, -1)
"""The place of a write that found no room: its user has as many records as may be."""


class Stored(NamedTuple):
    """One stored value."""

    version: int | None
    arrival: int
    sequence: int
    born: int
    payload: bytes


def parse(value: bytes) -> Stored:
    """Return what ``value`` holds. Raises ``DamagedRecordError`` if its header is not one."""
    try:
        version, arrival, sequence, born, payload = value.split(b" ", 4)
        given = None if version == b"-" else int(version)
        return Stored(given, int(arrival), int(sequence), int(born), payload)
    except ValueError as error:
        raise DamagedRecordError(
            f"stored value of {len(value)} bytes has no header 'version arrival sequence born '"
        ) from error
