"""Personalized PageRank over subjects and memories: a baseline to compare with, not served.

Source: Haveliwala 2002, "Topic-Sensitive PageRank"; seeds as HippoRAG (Gutiérrez et al. 2024)
takes them, the entities that are most like the question.
"""

import numpy as np
from numpy.typing import NDArray

from seedmem.user import UserState
from seedmem.vectors import Vector

RESTART = 0.5  # chance to jump back to a seed, as HippoRAG
SEEDS = 40  # subjects, the N of subject fusion
_STEPS = 30  # 0.5 ** 30 of the walk is left: below float32


def pagerank(state: UserState, vector: Vector) -> NDArray[np.float64]:
    """Return (rows,): how often a walk from the subjects like ``vector`` stands at each memory."""
    nodes, rows = state.subjects.links()
    count = len(state.subjects)
    seeds = np.zeros(count + state.rows)
    subjects, cosines = state.subjects.search(vector, SEEDS)
    seeds[subjects] = np.maximum(cosines, 0.0)
    seeds /= max(float(seeds.sum()), 1e-12)
    start = np.concatenate([nodes, count + rows])
    end = np.concatenate([count + rows, nodes])
    degree = np.maximum(np.bincount(start, minlength=len(seeds)), 1)
    visits = seeds
    for _ in range(_STEPS):
        flow = np.bincount(end, visits[start] / degree[start], minlength=len(seeds))
        visits = RESTART * seeds + (1 - RESTART) * flow
    return np.asarray(visits[count:], dtype=np.float64)
