"""One user in memory, as the parts ask it."""

from collections.abc import Sequence

from seedmem.memory import Memory, Record
from seedmem.retrieve import Weights
from seedmem.user import UserState
from seedmem.vectors import VectorSpace

HYBRID = Weights(lookup={"dense": 1.0, "keyword": 0.7})
"""Dense and keywords alone: the like of what is compared."""

NEVER = 10**9  # memories; a graph is not built below
K = 10  # hits of a question


def state_of(records: Sequence[Record], dim: int, *, exact_limit: int = NEVER) -> UserState:
    """Return a user with ``records``, searched by a graph where there are more memories."""
    state = UserState(VectorSpace("given", dim), exact_limit=exact_limit, user_id="user")
    state.load((record, None) for record in records)
    if state.dense.needs_graph:
        build = state.dense.plan_build()
        build.run()
        state.dense.adopt(build)
    return state


def memory_ids(records: Sequence[Memory]) -> list[str]:
    """Return the ids of ``records``."""
    return [record.memory_id for record in records]
