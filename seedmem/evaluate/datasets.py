"""Data files of conversations and questions: the one parser, for ``import`` and for ``eval``.

Two forms are read. JSON lines, one object each::

    {"kind": "memory",  "user_id", "id", "text", ["timestamp", "session", "speaker"]}
    {"kind": "subject", "user_id", "id", "text", "memories": [ids]}
    {"kind": "query",   "user_id", "id", "text", "gold": [ids],
     ["category", "answer", "timestamp", "context": [the turns before it]]}

and the file that LoCoMo publishes (Maharana et al. 2024, "Evaluating Very Long-Term
Conversational Memory of LLM Agents"): a JSON list of samples. Unknown fields are ignored.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from seedmem.errors import DataError

_FORMATS = (
    "%B-%d-%Y",  # March-15-2024, as BEAM writes
    "%I:%M %p on %d %B, %Y",  # 1:56 pm on 8 May, 2023, as LoCoMo writes
)
_CATEGORIES = {1: "multi_hop", 2: "temporal", 3: "open_domain", 4: "single_hop", 5: "adversarial"}
_TURN = re.compile(r"D(\d+):(\d+)")
_SESSION = re.compile(r"session_(\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One turn or note."""

    user_id: str
    id: str
    text: str
    created_at: float | None = None
    """Seconds since the epoch; a file's local times are read as UTC."""
    session: str | None = None
    speaker: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectItem:
    """One subject and the memories that are about it."""

    user_id: str
    id: str
    name: str
    memory_ids: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryItem:
    """One question and the memories that answer it."""

    user_id: str
    id: str
    text: str
    gold: tuple[str, ...]
    category: str | None = None
    answer: str | None = None
    asked_at: float | None = None
    """Seconds since the epoch."""
    context: tuple[str, ...] = ()
    """What was said right before it, eldest first."""


Item = MemoryItem | SubjectItem | QueryItem


def parse_lines(lines: Iterable[str | bytes]) -> Iterator[Item]:
    """Yield what JSON lines hold, in order; empty lines are skipped.

    Raises:
        DataError: a line is not JSON, or lacks a field; it names the line.
    """
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            fields = json.loads(line)
            yield _MAKERS[fields["kind"]](fields)
        except (ValueError, TypeError, KeyError) as error:
            raise DataError(f"line {number}: {_said(error)}") from error


def parse_locomo(text: str | bytes) -> Iterator[Item]:
    """Yield what LoCoMo's published file holds: each sample's turns, then its questions.

    A sample is a user, a turn's text is "Speaker: text" (captions of images are left
    out), and questions whose evidence names no turn are skipped.

    Raises:
        DataError: it is not LoCoMo's JSON; it names the sample.
    """
    try:
        samples = json.loads(text)
    except ValueError as error:
        raise DataError(f"not JSON: {error}") from error
    if not isinstance(samples, list):
        raise DataError(f"want a list of samples, got {type(samples).__name__}")
    for index, sample in enumerate(samples):
        try:
            yield from _turns(sample["sample_id"], sample["conversation"])
            yield from _questions(sample["sample_id"], sample["qa"])
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise DataError(f"sample {index}: {_said(error)}") from error


def parse_time(text: str | None) -> float | None:
    """Return seconds since the epoch of ISO 8601, "March-15-2024" or "1:56 pm on 8 May, 2023".

    Raises:
        ValueError: it has none of these forms.
    """
    if text is None:
        return None
    for read in (datetime.fromisoformat, *(_reader(form) for form in _FORMATS)):
        try:
            moment = read(text)
        except ValueError:
            continue
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    raise ValueError(f"want a time such as 2024-03-15T19:40 or March-15-2024, got {text!r}")


def _memory(fields: Mapping[str, Any]) -> MemoryItem:
    return MemoryItem(
        user_id=fields["user_id"],
        id=fields["id"],
        text=fields["text"],
        created_at=parse_time(fields.get("timestamp")),
        session=_text(fields.get("session")),
        speaker=fields.get("speaker"),
    )


def _subject(fields: Mapping[str, Any]) -> SubjectItem:
    return SubjectItem(
        user_id=fields["user_id"],
        id=fields["id"],
        name=fields["text"],
        memory_ids=tuple(fields["memories"]),
    )


def _query(fields: Mapping[str, Any]) -> QueryItem:
    return QueryItem(
        user_id=fields["user_id"],
        id=fields["id"],
        text=fields["text"],
        gold=tuple(fields["gold"]),
        category=fields.get("category"),
        answer=_text(fields.get("answer")),
        asked_at=parse_time(fields.get("timestamp")),
        context=tuple(fields.get("context") or ()),
    )


_MAKERS: Mapping[str, Callable[[Mapping[str, Any]], Item]] = {
    "memory": _memory,
    "subject": _subject,
    "query": _query,
}


def _turns(user_id: str, conversation: Mapping[str, Any]) -> Iterator[MemoryItem]:
    numbers = sorted(int(m[1]) for name in conversation if (m := _SESSION.fullmatch(name)))
    for number in numbers:
        at = parse_time(conversation.get(f"session_{number}_date_time"))
        for turn in conversation[f"session_{number}"]:
            yield MemoryItem(
                user_id=user_id,
                id=turn["dia_id"],
                text=f"{turn['speaker']}: {turn['text']}",
                created_at=at,
                session=str(number),
                speaker=turn["speaker"],
            )


def _questions(user_id: str, asked: Iterable[Mapping[str, Any]]) -> Iterator[QueryItem]:
    for index, fields in enumerate(asked):
        found = _TURN.findall(" ".join(fields.get("evidence", ())))
        gold = tuple(dict.fromkeys(f"D{int(session)}:{int(turn)}" for session, turn in found))
        if gold:
            yield QueryItem(
                user_id=user_id,
                id=f"{user_id}-q{index}",
                text=fields["question"],
                gold=gold,
                category=_CATEGORIES[fields["category"]],
                answer=_text(fields.get("answer", fields.get("adversarial_answer"))),
            )


def _reader(form: str) -> Callable[[str], datetime]:
    return lambda text: datetime.strptime(text, form).replace(tzinfo=UTC)


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _said(error: Exception) -> str:
    return f"field {error} is missing or unknown" if isinstance(error, KeyError) else str(error)
