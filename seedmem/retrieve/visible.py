"""Which rows a query may see: alive, not from its future, and inside its filters."""

import numpy as np
from numpy.typing import NDArray

from seedmem.retrieve.query import Query
from seedmem.user import UserState

Mask = NDArray[np.bool_]  # (rows,)


def known(state: UserState, query: Query) -> Mask:
    """Return the memories that existed at ``as_of``; one of unknown time did."""
    if query.as_of is None:
        return state.live
    return state.live & ~(state.created_at > query.as_of)


def admitted(state: UserState, query: Query) -> Mask:
    """Return the memories that pass the filters; one of unknown time is in no time range."""
    mask = known(state, query)
    if query.since is not None:
        mask = mask & (state.created_at >= query.since)
    if query.until is not None:
        mask = mask & (state.created_at < query.until)
    if query.sessions:
        wanted = [code for code, name in enumerate(state.sessions) if name in query.sessions]
        mask = mask & np.isin(state.session, wanted)
    if query.subjects:
        mask = mask & _about(state, query.subjects)
    return mask


def _about(state: UserState, names: tuple[str, ...]) -> Mask:
    linked = np.zeros(state.rows, dtype=np.bool_)
    for name in names:
        index = state.subjects.find(name)
        if index is not None:
            linked[state.subjects.rows_of(index)] = True
    return linked
