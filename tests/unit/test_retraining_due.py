"""When a retraining is called for."""

import msgspec
import pytest

from streams.settings import Settings
from streams.store import Supervision
from streams.supervision import DAY, Noted, cause_of_pairs, is_due

SETTINGS = Settings(retrain_pairs=40, retrain_growth=0.25, retrain_days=7)
NOW = 1_000 * DAY


def supervision(
    pairs: int, *, writes: int = 100, requested: int = 0, last: Noted | None = None
) -> Supervision:
    note = None if last is None else msgspec.msgpack.encode(last)
    return Supervision(pairs, writes, requested, note)


@pytest.mark.parametrize(
    ("pairs", "requested", "decided", "cause"),
    [
        (39, 0, 0, None),
        (40, 0, 0, "pairs"),
        (41, 40, 0, None),  # asked for, and not decided yet
        (49, 40, 40, None),
        (50, 40, 40, "growth"),  # 40 + 25 %
        (40, 0, 20, "pairs"),  # decided by hand before there were enough
        (62, 50, 40, None),  # of the two the later counts: 50 + 25 % = 62.5
        (63, 50, 40, "growth"),
    ],
)
def test_pairs_call_for_a_retraining_once_at_each_threshold(pairs, requested, decided, cause):
    last = Noted(NOW, decided, 100) if decided else None

    assert cause_of_pairs(supervision(pairs, requested=requested, last=last), SETTINGS) == cause


def test_pairs_of_a_user_without_memories_call_for_nothing():
    assert cause_of_pairs(supervision(40, writes=0), SETTINGS) is None


@pytest.mark.parametrize(
    ("days", "pairs", "writes", "due"),
    [
        (8, 41, 100, True),  # a new pair
        (8, 40, 101, True),  # a new memory
        (8, 40, 100, False),  # nothing new
        (6, 41, 101, False),  # too early
    ],
)
def test_the_schedule_wants_news_and_an_old_decision(days, pairs, writes, due):
    last = Noted(NOW - days * DAY, 40, 100)

    assert is_due(supervision(pairs, writes=writes, last=last), SETTINGS, now=NOW) is due


def test_a_user_with_memories_of_whom_nothing_was_decided_is_due():
    assert is_due(supervision(0), SETTINGS, now=NOW)
    assert not is_due(supervision(0, writes=0), SETTINGS, now=NOW)


def test_a_note_that_cannot_be_read_is_none():
    damaged = Supervision(40, 100, 0, b"\xc1")

    assert cause_of_pairs(damaged, SETTINGS) == "pairs"
