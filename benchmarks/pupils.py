"""The users of a simulation in this process: what each score finds for what they are asked."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from benchmarks.people import Person
from seedmem.adapt import Adapter
from seedmem.encode import Encoder
from seedmem.evaluate.methods import FULL, METHODS
from seedmem.evaluate.run import DEPTH
from seedmem.retrieve import Query, retrieve, shipped
from seedmem.user import UserState
from streams.loader import Loader
from streams.store import RecordStore

SCORES = ("dense", "fusion", FULL)

Rankings = Sequence[Sequence[str]]
"""Of each question, memory ids, best first."""


@dataclass(frozen=True, kw_only=True)
class Pupil:
    """A user as a worker would load it, and the questions that were held out."""

    person: Person
    state: UserState
    queries: tuple[Query, ...]

    @property
    def user_id(self) -> str:
        return self.person.user_id

    def rankings(self, score: str, adapter: Adapter | None) -> Rankings:
        """Return what ``score`` finds: dense and fusion by the bent vector, full as it serves."""
        if score == FULL:
            answers = [retrieve(self.state, query, adapter=adapter) for query in self.queries]
        else:
            ask = METHODS[score](self.user_id, shipped())
            answers = [ask(self.state, _bent(query, adapter)) for query in self.queries]
        return [[hit.memory_id for hit in answer.hits] for answer in answers]


async def pupil(store: RecordStore, encoder: Encoder, person: Person) -> Pupil:
    """Return one whose questions are encoded one by one, as a worker does that is asked so."""
    loader, state = Loader(encoder.space), UserState(encoder.space, user_id=person.user_id)
    async for page in store.read(person.user_id):
        loader.add(page)
    loader.fill(state)
    queries = (
        Query(text=item.text, vector=encoder.encode([item.text])[0], k=DEPTH, as_of=item.asked_at)
        for item in person.held_out
    )
    return Pupil(person=person, state=state, queries=tuple(queries))


def _bent(query: Query, adapter: Adapter | None) -> Query:
    if adapter is None or query.vector is None:
        return query
    return replace(query, vector=adapter.apply(query.vector))
