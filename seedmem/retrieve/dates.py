"""The dates that a question names, and how near to them a memory was made.

A cheap pattern finds what can be a date; ``dateparser`` reads it, relative
ones ("two days ago") against the moment of the question. Times without a zone
are UTC. The pattern knows English.
"""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from functools import lru_cache

import numpy as np
import regex
from numpy.typing import NDArray

Span = tuple[float, float]  # from, to: seconds since the epoch

_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAY, _YEAR = r"\d{1,2}(?:st|nd|rd|th)?", r"(?:19|20)\d\d"
_COUNT = r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)"
_PHRASE = regex.compile(
    rf"\b(?:{_YEAR}-\d\d-\d\d"
    rf"|{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR})?|{_MONTH} {_DAY}(?:,? {_YEAR})?|{_MONTH},? {_YEAR}"
    r"|(?:in|during|since|last|this|early|late|of|until|by) "
    rf"(?P<bare>{_MONTH}(?: {_DAY}(?!\d))?(?:,? {_YEAR})?)"
    rf"|{_YEAR}"
    rf"|{_COUNT} (?:day|week|month|year)s? ago|(?:last|this) (?:week|month|year)"
    r"|yesterday|today|this morning|last night|the day before yesterday"
    r"|(?:last|this|on) (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b"
)
_NEAR = 3 * 86_400.0  # seconds after which agreement has fallen to 1/e: talk follows the event
_HALF_A_WEEK = timedelta(days=3.5)
_LENGTHS = {
    "time": timedelta(days=1),
    "day": timedelta(days=1),
    "week": timedelta(days=7),
    "month": timedelta(days=30),
    "year": timedelta(days=365),
}


def names_one(question: str) -> bool:
    """Return whether ``question``, in normal form, may name a date."""
    return _PHRASE.search(question) is not None


def spans(question: str, at: float) -> list[Span]:
    """Return the spans of time that ``question``, folded to lower case, names.

    Args:
        question: text in normal form.
        at: when it is asked, seconds since the epoch; a year that is left out is the last before.
    """
    day = at - at % 86_400.0  # by day, so that the cache is of use
    found = (match["bare"] or match.group() for match in _PHRASE.finditer(question))
    return [span for phrase in found if (span := _span(phrase, day)) is not None]


def agreement(created_at: NDArray[np.float64], spans: Sequence[Span]) -> NDArray[np.float32]:
    """Return (rows,): 1 inside a span, falling to 0 within days; 0 for unknown times."""
    best = np.zeros(len(created_at), dtype=np.float64)
    for start, end in spans:
        away = np.maximum(np.maximum(start - created_at, created_at - end), 0.0)
        best = np.fmax(best, np.exp(away / -_NEAR))
    return best.astype(np.float32)


@lru_cache(maxsize=4096)
def _span(phrase: str, day: float) -> Span | None:
    """Return the span that a phrase means; 0.5 to 15 ms, the first time a second."""
    from dateparser.date import DateDataParser

    base = datetime.fromtimestamp(day, UTC).replace(tzinfo=None)
    settings = {
        "RELATIVE_BASE": base,
        "PREFER_DATES_FROM": "past",
        "PREFER_DAY_OF_MONTH": "first",
        "PREFER_MONTH_OF_YEAR": "first",
    }
    read = DateDataParser(languages=["en"], settings=settings).get_date_data(phrase)
    if read.date_obj is None:
        return None
    start = read.date_obj.replace(tzinfo=UTC, hour=0, minute=0, second=0, microsecond=0)
    if read.period == "week":
        start -= _HALF_A_WEEK
    return start.timestamp(), (start + _LENGTHS[read.period]).timestamp()
