"""Fit how sure an answer is: a logistic regression on clues of questions that were held out.

Source: Platt 1999, "Probabilistic Outputs for Support Vector Machines", with several
clues in place of one margin.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seedmem.evaluate.corpus import Corpus
from seedmem.evaluate.run import SHOWN, Fitted
from seedmem.retrieve import Weights
from seedmem.retrieve.confidence import CLUES, clues
from seedmem.retrieve.rank import rank
from seedmem.retrieve.weights import Confidence

SPARED = 0.05  # share of the answerable questions that may be abstained from
_L2 = 1e-2
_STEPS = 50  # of Newton; ten are enough


@dataclass(frozen=True, slots=True)
class Outcomes:
    """What was seen of held-out questions."""

    clues: NDArray[np.float64]
    """(Q, C)"""
    answerable: NDArray[np.bool_]
    """(Q,)"""
    owners: NDArray[np.str_]
    """(Q,): ``data/user``."""

    def without(self, owner: str) -> "Outcomes":
        """Return the questions of all users but one."""
        kept = self.owners != owner
        return Outcomes(self.clues[kept], self.answerable[kept], self.owners[kept])


def outcomes(corpora: Sequence[Corpus], fitted: Fitted) -> Outcomes:
    """Return the outcomes of every question, each ranked by weights that have not seen its user."""
    seen, answerable, owners = [], [], []
    for corpus in corpora:
        for user in corpus.users:
            owner = f"{corpus.name}/{user.user_id}"
            if owner not in fitted:  # none of its questions has its gold here
                continue
            for case in user.cases:
                ranking = rank(user.state, replace(case.query, k=SHOWN), fitted[owner])
                found = clues(ranking)
                seen.append([found[name] for name in CLUES])
                answerable.append(bool(case.gold))
                owners.append(owner)
    return Outcomes(np.array(seen), np.array(answerable), np.array(owners))


def calibrated(weights: Weights, outcomes: Outcomes) -> Weights:
    """Return ``weights`` with a confidence; without unanswerable questions, as they are."""
    if outcomes.answerable.all() or not outcomes.answerable.any():
        return weights
    spread = np.maximum(outcomes.clues.std(axis=0), 1e-6)
    slope = _logistic(
        np.column_stack([outcomes.clues / spread, np.ones(len(outcomes.clues))]),
        outcomes.answerable,
    )
    by_clue = slope[:-1] / spread
    logits = outcomes.clues @ by_clue + slope[-1]
    least = np.quantile(logits[outcomes.answerable], SPARED)
    model = Confidence(
        clues=dict(zip(CLUES, by_clue.tolist(), strict=True)),
        bias=float(slope[-1]),
        threshold=float(1 / (1 + np.exp(-least))),
    )
    return replace(weights, confidence=model)


def calibrated_folds(fitted: Fitted, outcomes: Outcomes) -> dict[str, Weights]:
    """Return each owner's weights with a confidence that has not seen its questions."""
    return {
        owner: calibrated(weights, outcomes.without(owner)) for owner, weights in fitted.items()
    }


def _logistic(inputs: NDArray[np.float64], truth: NDArray[np.bool_]) -> NDArray[np.float64]:
    """Return the slopes of a ridge logistic regression, by Newton's method; last the bias."""
    slopes = np.zeros(inputs.shape[1])
    ridge = np.full(len(slopes), _L2 * len(inputs))
    ridge[-1] = 0.0
    for _ in range(_STEPS):
        chance = 1 / (1 + np.exp(-inputs @ slopes))
        gradient = inputs.T @ (chance - truth) + ridge * slopes
        curvature = (inputs.T * (chance * (1 - chance))) @ inputs + np.diag(ridge + 1e-9)
        slopes -= np.linalg.solve(curvature, gradient)
    return slopes
