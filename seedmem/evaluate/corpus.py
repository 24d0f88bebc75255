"""From a file's items to users that can be asked: states as the service would hold them."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from seedmem.evaluate.datasets import Item, MemoryItem, QueryItem, SubjectItem
from seedmem.evaluate.vague import is_vague
from seedmem.memory import Memory, Subject
from seedmem.retrieve import Mode, Query
from seedmem.user import UserState
from seedmem.vectors import Matrix, VectorSpace, pack, unpack

UNANSWERABLE = "adversarial"
"""The category of questions that no memory answers, whatever their gold says."""


class Encodes(Protocol):
    """What of an encoder is needed here."""

    @property
    def space(self) -> VectorSpace: ...

    def encode(self, texts: Sequence[str]) -> Matrix: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One question to one user."""

    id: str
    query: Query
    gold: frozenset[str]
    """Ids of the memories that answer; empty if nothing does."""
    category: str
    vague: bool
    """Whether no content word of the question occurs in a gold memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class User:
    """One user and all questions to it."""

    user_id: str
    state: UserState
    cases: tuple[Case, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Corpus:
    """One data set."""

    name: str
    users: tuple[User, ...]


def corpora(
    sources: Mapping[str, Sequence[Item]], encoder: Encodes, *, mode: Mode = "lookup"
) -> list[Corpus]:
    """Return the data sets that have questions; items of the other sources join by user id."""
    shared = [i for items in sources.values() if not _asks(items) for i in items]
    return [
        Corpus(name=name, users=tuple(_users([*items, *shared], encoder, mode)))
        for name, items in sources.items()
        if _asks(items)
    ]


def _asks(items: Iterable[Item]) -> bool:
    return any(isinstance(item, QueryItem) for item in items)


def _users(items: Sequence[Item], encoder: Encodes, mode: Mode) -> Iterable[User]:
    asked = dict.fromkeys(item.user_id for item in items if isinstance(item, QueryItem))
    texts = [_text(item) for item in items if item.user_id in asked]
    vectors = dict(zip(texts, encoder.encode(texts), strict=True))
    by_user: dict[str, list[Item]] = {user_id: [] for user_id in asked}
    for item in items:
        if item.user_id in by_user:
            by_user[item.user_id].append(item)
    for user_id, own in by_user.items():
        state = UserState(encoder.space, user_id=user_id)
        state.load((record, None) for record in _records(own, vectors, encoder.space.dim))
        memories = {item.id: item for item in own if isinstance(item, MemoryItem)}
        cases = (
            _case(item, memories, vectors, mode) for item in own if isinstance(item, QueryItem)
        )
        yield User(user_id=user_id, state=state, cases=tuple(cases))


def _text(item: Item) -> str:
    if isinstance(item, SubjectItem):
        return item.name
    return " ".join([*item.context, item.text]) if isinstance(item, QueryItem) else item.text


def _records(
    items: Sequence[Item], vectors: Mapping[str, "Matrix"], dim: int
) -> Iterable[Memory | Subject]:
    """Yield records whose vectors are rounded as the store rounds them."""
    for number, item in enumerate(items):
        if isinstance(item, QueryItem):
            continue
        vector = unpack(pack(vectors[_text(item)]), dim)
        if isinstance(item, MemoryItem):
            yield Memory(
                memory_id=item.id,
                text=item.text,
                vector=vector,
                sequence=number,
                born=number,
                created_at=item.created_at,
                session_id=item.session,
                role=item.speaker,
            )
        else:
            yield Subject(
                subject_id=item.id,
                name=item.name,
                vector=vector,
                sequence=number,
                memory_ids=item.memory_ids,
            )


def _case(
    item: QueryItem, memories: Mapping[str, MemoryItem], vectors: Mapping[str, "Matrix"], mode: Mode
) -> Case:
    text = _text(item)
    gold = frozenset() if item.category == UNANSWERABLE else frozenset(item.gold)
    told = [memories[id_].text for id_ in gold if id_ in memories]
    return Case(
        id=item.id,
        query=Query(text=text, vector=vectors[text], mode=mode, as_of=item.asked_at),
        gold=gold,
        category=item.category or "none",
        vague=bool(told) and is_vague(item.text, told),
    )
