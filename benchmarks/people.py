"""Real users for a simulation: what they remember, teach the service, and are asked."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from seedmem.evaluate.corpus import UNANSWERABLE
from seedmem.evaluate.datasets import Item, MemoryItem, QueryItem, SubjectItem
from seedmem.evaluate.sources import read
from seedmem.learn.examples import apart, folds


@dataclass(frozen=True, kw_only=True)
class Lesson:
    """A question, and the memory that was used to answer it."""

    question: str
    memory_id: str


@dataclass(frozen=True, kw_only=True)
class Person:
    """One user; no memory answers both what it teaches and what it is asked."""

    user_id: str
    memories: tuple[MemoryItem, ...]
    """The eldest first."""
    subjects: tuple[SubjectItem, ...]
    lessons: tuple[Lesson, ...]
    """In the order of their memories; each question once."""
    held_out: tuple[QueryItem, ...]


def people(file: Path, most: int) -> list[Person]:
    """Return the first users of a data file who have answerable questions, ``most`` at most.

    Raises:
        DataError: the file has not the form it should.
    """
    by_user: dict[str, list[Item]] = {}
    for items in read([file]).values():
        for item in items:
            by_user.setdefault(item.user_id, []).append(item)
    found = (_person(user_id, items) for user_id, items in by_user.items())
    return [person for person in found if person.lessons and person.held_out][:most]


def _person(user_id: str, items: Sequence[Item]) -> Person:
    told = sorted(
        (item for item in items if isinstance(item, MemoryItem)),
        key=lambda memory: memory.created_at or 0.0,
    )
    row_of = {memory.id: row for row, memory in enumerate(told)}
    answered = _answered(items, row_of)
    rows = [sorted(row_of[id_] for id_ in item.gold if id_ in row_of) for item in answered]
    taught, held_out = _halves(rows)
    in_time = sorted(taught, key=lambda number: rows[number][0])
    return Person(
        user_id=user_id,
        memories=tuple(told),
        subjects=tuple(item for item in items if isinstance(item, SubjectItem)),
        lessons=tuple(
            Lesson(question=answered[number].text, memory_id=told[rows[number][0]].id)
            for number in in_time
        ),
        held_out=tuple(answered[number] for number in held_out),
    )


def _halves(golds: Sequence[Sequence[int]]) -> tuple[list[int], list[int]]:
    """Return the questions to teach by and those to hold out."""
    if not golds:
        return [], []
    taught, held_out = apart(golds, folds(golds, count=2), 0)
    return taught.tolist(), held_out.tolist()


def _answered(items: Sequence[Item], known: dict[str, int]) -> list[QueryItem]:
    """Return the questions that a known memory answers, each text once."""
    asked = {
        item.text: item
        for item in items
        if isinstance(item, QueryItem) and item.category != UNANSWERABLE
    }
    return [item for item in asked.values() if not known.keys().isdisjoint(item.gold)]
