"""Users' adapters as an operator sees them: what serves, what was decided, what is due."""

import uuid

import msgspec

from streams.errors import StreamsError
from streams.settings import Settings
from streams.store import AdapterStore, RecordStore, Settlement
from streams.supervision import Verdict, is_due


class Adapters(msgspec.Struct, frozen=True, kw_only=True):
    """One user's adapters in one generation (vector space)."""

    user_id: str
    generation: str
    current: int
    """Version that serves; 0 is the identity."""
    versions: list[int]
    """Those that are kept, newest first."""
    pairs: int
    decisions: list[Verdict]
    """The latest first."""


async def of(store: RecordStore, user_id: str) -> list[Adapters]:
    """Return a user's adapters, one item for each generation."""
    return [
        await _standing(adapters, user_id, generation)
        for generation, adapters in await _generations(store, user_id)
    ]


async def every(store: RecordStore) -> list[Adapters]:
    """Return the adapters of all users of whom anything was ever decided."""
    users = sorted([user_id async for user_id in store.users()])
    found = [standing for user_id in users for standing in await of(store, user_id)]
    return [standing for standing in found if standing.decisions]


async def due(store: RecordStore, settings: Settings, *, now: float) -> list[str]:
    """Return the users whose adapters the schedule wants; ``now`` in seconds since the epoch."""
    found = set[str]()
    async for user_id in store.users():
        for _, adapters in await _generations(store, user_id):
            [supervision] = await adapters.supervision([user_id])
            if is_due(supervision, settings, now=now):
                found.add(user_id)
    return sorted(found)


async def roll_back(store: RecordStore, user_id: str, *, now: float) -> tuple[str, Verdict]:
    """Have the version before serve again; return the generation, and the decision as written.

    Raises:
        StreamsError: no adapter serves the user, or another decision came first.
    """
    for generation, adapters in await _generations(store, user_id):
        since = await adapters.standing(user_id)
        if not since.current:
            continue
        kept = [v for v in await adapters.versions(user_id) if v < since.current]
        verdict = Verdict(
            request_id=uuid.uuid4().hex,
            cause="rollback",
            at=now,
            shipped=True,
            reason="an operator went back",
            before=since.current,
            version=max(kept, default=0),
        )
        settlement = Settlement(verdict.version, msgspec.json.encode(verdict))
        if not await adapters.settle(user_id, since, settlement):
            raise StreamsError("another decision came first: look at it, then try again")
        return generation, verdict
    raise StreamsError(f"no adapter serves {user_id!r}, so there is nothing to go back from")


async def _generations(store: RecordStore, user_id: str) -> list[tuple[str, AdapterStore]]:
    return [(name, store.adapters_of(name)) for name in await store.generations(user_id)]


async def _standing(adapters: AdapterStore, user_id: str, generation: str) -> Adapters:
    [supervision] = await adapters.supervision([user_id])
    return Adapters(
        user_id=user_id,
        generation=generation,
        current=(await adapters.standing(user_id)).current,
        versions=await adapters.versions(user_id),
        pairs=supervision.pairs,
        decisions=[
            msgspec.json.decode(raw, type=Verdict) for raw in await adapters.decisions(user_id)
        ],
    )
