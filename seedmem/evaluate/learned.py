"""Weights and confidence from data: those to ship, and for each user those that never saw it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from seedmem.errors import DataError
from seedmem.evaluate.calibrate import calibrated, calibrated_folds, outcomes
from seedmem.evaluate.corpus import Corpus
from seedmem.evaluate.fit import examples, fit, leave_one_out
from seedmem.evaluate.run import Fitted
from seedmem.retrieve import Weights


@dataclass(frozen=True, slots=True)
class Learned:
    """What data sets teach."""

    weights: Weights
    """Fitted on everything."""
    held_out: Fitted
    """``data/user`` → fitted on everything but this user."""


def learn(corpora: Sequence[Corpus], *, command: str = "") -> Learned:
    """Return weights fitted on ``corpora``, by the features and then the confidence.

    Raises:
        DataError: fewer than two users have questions whose gold is there.
    """
    every = examples(corpora)
    if len(set(every.owners.tolist())) < 2:
        raise DataError("leaving one user out needs two users with answerable questions")
    weights = replace(fit(every), fitted_on=tuple(c.name for c in corpora), command=command)
    held_out = leave_one_out(every, weights)
    seen = outcomes(corpora, held_out)
    return Learned(calibrated(weights, seen), calibrated_folds(held_out, seen))
