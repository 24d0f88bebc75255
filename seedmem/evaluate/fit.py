"""Fit the weights of the features: a listwise softmax over all of a user's memories.

    L(w) = −(1/Q) Σ_q log ( Σ_{m ∈ gold(q)} exp(w·x(q, m)) / Σ_m exp(w·x(q, m)) ) + λ ‖w·σ‖²

with σ the features' spread, and signs that are known beforehand held. Source: Cao et
al. 2007, "Learning to Rank: From Pairwise Approach to Listwise Approach" (ListNet), for
any of several golds. The loss is convex but for several golds, and flat there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import Adapter
from seedmem.errors import DataError
from seedmem.evaluate.corpus import Case, Corpus, User
from seedmem.retrieve import Weights
from seedmem.retrieve.features import FEATURES, Features

NEGATIVE = frozenset({"assistant", "small_talk", "short_question"})
"""Features that can only speak against a memory; all others only for it."""

L2 = 4e-3  # λ; between 1e-3 and 1e-2 nothing changes by more than half a point
LEAST = {"current": 0.1}
"""Weights that data may raise only: of two rivals the newer must win where the present is asked."""
ASSOCIATION = {"dense": 1.0}
"""What comes to mind shares no words, speaker or date with the remark: meaning alone counts."""

_LEADERS = 30  # best memories by each relevance feature that a question is fitted on, and …
_OTHERS = 60  # … memories drawn from the rest
_LEADING = tuple(
    FEATURES.index(name)
    for name in ("dense", "dense_window", "keyword", "keyword_window", "keyword_stretch")
)


@dataclass(frozen=True, slots=True)
class Examples:
    """Questions with the features of the memories that compete for them."""

    features: NDArray[np.float32]
    """(n, F), question after question."""
    gold: NDArray[np.bool_]
    """(n,)"""
    starts: NDArray[np.intp]
    """(Q,): first row of each question."""
    owners: NDArray[np.str_]
    """(Q,): ``data/user`` of each question."""

    def without(self, owner: str) -> "Examples":
        """Return the questions of all users but one."""
        kept = self.owners != owner
        counts = np.diff(np.append(self.starts, len(self.features)))
        rows = np.repeat(kept, counts)
        starts = np.concatenate([[0], np.cumsum(counts[kept])[:-1]]).astype(np.intp)
        return Examples(self.features[rows], self.gold[rows], starts, self.owners[kept])


def examples(corpora: Sequence[Corpus], adapters: Mapping[str, Adapter] | None = None) -> Examples:
    """Return the examples of all questions whose gold is there.

    Args:
        corpora: the data sets.
        adapters: of the users that are asked, by ``data/user``; None asks all, without adapters.

    Raises:
        DataError: there is none.
    """
    generator = np.random.default_rng(0)
    features, gold, owners = [], [], []
    for owner, user in ((f"{c.name}/{u.user_id}", u) for c in corpora for u in c.users):
        if adapters is not None and owner not in adapters:
            continue
        adapter = None if adapters is None else adapters[owner]
        for case in user.cases:
            rows = [user.state.row_of(id_) for id_ in case.gold]
            there = np.array([row for row in rows if row is not None], dtype=np.intp)
            if len(there) == 0:
                continue
            columns = _columns(user, case, adapter)
            kept = _competing(columns, there, generator)
            features.append(columns[kept])
            gold.append(np.isin(kept, there))
            owners.append(owner)
    lengths = [len(block) for block in gold]
    starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.intp)
    if not gold:
        raise DataError("no question has a gold memory that is there: nothing to fit on")
    return Examples(np.concatenate(features), np.concatenate(gold), starts, np.array(owners))


def fit(
    plain: Examples, personal: Examples | None = None, *, start: Weights | None = None
) -> Weights:
    """Return the weights that explain the examples best.

    Args:
        plain: asked without adapters.
        personal: questions asked with adapters that have a lexicon. What is found there for
            ``bent`` holds for adapters without a lexicon too.
        start: weights near the best; it only saves time.
    """
    lookup = _fitted(plain, start.lookup if start else {})
    if personal is None:
        return Weights(lookup=lookup, association=ASSOCIATION)
    own = _fitted(personal, start.personal if start else {})
    bent = {"bent": own["bent"]} if "bent" in own else {}
    return Weights(lookup=lookup | bent, personal=own, association=ASSOCIATION)


def leave_one_out(
    plain: Examples, fitted: Weights, personal: Examples | None = None
) -> dict[str, Weights]:
    """Return, for each owner, weights that have not seen its questions."""
    found = {}
    for owner in dict.fromkeys(plain.owners.tolist()):
        without = None if personal is None else personal.without(owner)
        own = fit(plain.without(owner), without, start=fitted)
        found[owner] = replace(fitted, lookup=own.lookup, personal=own.personal)
    return found


def _fitted(examples: Examples, start: Mapping[str, float]) -> dict[str, float]:
    from scipy.optimize import minimize

    spread = np.maximum(examples.features.std(axis=0), 0.05).astype(np.float64)
    found = minimize(
        _loss,
        np.array([start.get(name, 0.0) for name in FEATURES]) * spread,
        args=((examples.features / spread).astype(np.float32), examples.gold, examples.starts),
        jac=True,
        method="L-BFGS-B",
        bounds=[_bounds(name, scale) for name, scale in zip(FEATURES, spread, strict=True)],
        options={"maxiter": 300, "ftol": 1e-9},
    )
    weights = dict(zip(FEATURES, (found.x / spread).tolist(), strict=True))
    return {name: weight for name, weight in weights.items() if abs(weight) > 1e-3}


def _columns(user: User, case: Case, adapter: Adapter | None) -> NDArray[np.float32]:
    """Return (rows, F)."""
    features = Features(user.state, case.query, adapter)
    return np.stack([features.column(name) for name in FEATURES], axis=1)


def _competing(
    columns: NDArray[np.float32], gold: NDArray[np.intp], generator: np.random.Generator
) -> NDArray[np.intp]:
    """Return the rows that a question is fitted on: its gold, the leaders, and some others."""
    rows = len(columns)
    best = min(_LEADERS, rows)
    leaders = np.argpartition(-columns[:, _LEADING], best - 1, axis=0)[:best].ravel()
    others = generator.choice(rows, min(_OTHERS, rows), replace=False)
    return np.unique(np.concatenate([gold, leaders, others]))


def _bounds(name: str, scale: float) -> tuple[float | None, float | None]:
    if name in NEGATIVE:
        return None, 0.0
    return LEAST.get(name, 0.0) * scale, None


def _loss(
    weights: NDArray[np.float64],
    features: NDArray[np.float32],
    gold: NDArray[np.bool_],
    starts: NDArray[np.intp],
) -> tuple[float, NDArray[np.float64]]:
    """Return the loss and its gradient, (F,)."""
    scores = (features @ weights.astype(np.float32)).astype(np.float64)
    counts = np.diff(np.append(starts, len(scores)))
    powers = np.exp(scores - np.repeat(np.maximum.reduceat(scores, starts), counts))
    total = np.add.reduceat(powers, starts)
    right = np.maximum(np.add.reduceat(powers * gold, starts), 1e-300)
    pull = powers / np.repeat(total, counts) - powers * gold / np.repeat(right, counts)
    gradient = (features.T @ pull.astype(np.float32)).astype(np.float64) / len(starts)
    loss = float(np.log(total / right).mean() + L2 * weights @ weights)
    return loss, gradient + 2 * L2 * weights
