"""What tells a memory that answers from one that does not: one column a feature."""

import numpy as np
from numpy.typing import NDArray

from seedmem.retrieve.query import Query
from seedmem.retrieve.visible import Mask
from seedmem.text import hash_terms, terms
from seedmem.user import UserState
from seedmem.vectors import Vector

Column = NDArray[np.float32]  # (rows,)

FEATURES = ("dense", "keyword", "subject")
_TOP_SUBJECTS = 40  # N of subject fusion


def features(state: UserState, query: Query, vector: Vector | None, among: Mask) -> Column:
    """Return (rows, features): standard scores over the memories ``among``."""
    nothing = np.zeros(state.rows, dtype=np.float32)
    dense = subject = keyword = nothing
    if vector is not None:
        dense = state.vectors @ vector
        subject = state.best_subject_scores(vector, _TOP_SUBJECTS)
    if query.text is not None:
        keyword = state.keyword.scores(hash_terms(terms(query.text)))
    return np.stack([_standard(column, among) for column in (dense, keyword, subject)], axis=1)


def _standard(column: Column, among: Mask) -> Column:
    """Return standard scores over the rows ``among``; all 0 where these are equal."""
    sample = column[among]
    spread = float(sample.std()) if len(sample) else 0.0
    if spread < 1e-6:
        return np.zeros_like(column)
    return ((column - sample.mean()) / spread).astype(np.float32)
