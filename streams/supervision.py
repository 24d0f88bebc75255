"""What a user's supervision calls for, and the record of every decision about its adapter."""

import math
from collections.abc import Mapping
from typing import Literal

import msgspec

from seedmem.learn.gate import Decision
from streams.events import Cause
from streams.settings import Settings
from streams.store import Supervision

DAY = 86_400.0  # seconds

Lesson = Literal["pairs", "pseudo-queries", "none"]
"""What an adapter was fitted to."""


class Noted(msgspec.Struct, frozen=True, array_like=True):
    """What there was when a user's last decision was made."""

    at: float
    """Seconds since the epoch."""
    pairs: int
    writes: int
    """Number of the last write to the user's records."""


class Decided(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What of a decision must be readable whoever wrote it, also an older release."""

    request_id: str
    shipped: bool
    version: int
    """The version that serves from then on."""


class Verdict(Decided, frozen=True, kw_only=True, omit_defaults=True):
    """One decision about a user's adapter, with every number that it was made by."""

    cause: Cause | Literal["rollback"]
    at: float
    """Seconds since the epoch."""
    reason: str
    before: int
    """The version that served before; 0 is the identity."""
    lesson: Lesson = "none"
    memories: int = 0
    pairs: int = 0
    """Pairs that are kept of the user, used and rejected."""
    questions: int = 0
    """What was learned from: questions with an answer."""
    dropped: Mapping[str, int] = {}
    """Pairs that teach nothing, by reason."""
    took: float = 0.0
    """Seconds of fitting and judging."""
    gate: Decision | None = None


def noted(supervision: Supervision) -> Noted:
    """Return what the last decision noted; nothing where there was none, or no telling."""
    try:
        return msgspec.msgpack.decode(supervision.decided or b"", type=Noted)
    except msgspec.DecodeError:
        return Noted(0.0, 0, 0)


def cause_of_pairs(supervision: Supervision, settings: Settings) -> Cause | None:
    """Return why the number of pairs calls for a retraining, None if it does not."""
    if not supervision.writes or supervision.pairs < settings.retrain_pairs:
        return None
    last = max(supervision.requested, noted(supervision).pairs)
    if last < settings.retrain_pairs:
        return "pairs"
    wanted = math.ceil(last * (1 + settings.retrain_growth))
    return "growth" if supervision.pairs >= wanted else None


def is_due(supervision: Supervision, settings: Settings, *, now: float) -> bool:
    """Return whether the schedule calls for a retraining; ``now`` in seconds since the epoch."""
    last = noted(supervision)
    is_old = now - last.at >= settings.retrain_days * DAY
    return bool(supervision.writes) and is_old and has_news(supervision)


def has_news(supervision: Supervision) -> bool:
    """Return whether pairs or records have come since the last decision."""
    last = noted(supervision)
    return (supervision.pairs, supervision.writes) != (last.pairs, last.writes)
