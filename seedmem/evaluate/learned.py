"""Weights and confidence from data: those to ship, and for each user those that never saw it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from seedmem.adapt import Adapter
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


def learn(
    corpora: Sequence[Corpus],
    adapters: Mapping[str, Adapter] | None = None,
    *,
    command: str = "",
) -> Learned:
    """Return weights fitted on ``corpora``, by the features and then the confidence.

    Args:
        corpora: the data sets.
        adapters: of some users, by ``data/user``, each with a lexicon; without them nothing is
            fitted for users that have one.
        command: what is run to fit them again.

    Raises:
        DataError: fewer than two users have questions whose gold is there.
    """
    plain = examples(corpora)
    if len(set(plain.owners.tolist())) < 2:
        raise DataError("leaving one user out needs two users with answerable questions")
    personal = examples(corpora, adapters) if adapters else None
    fitted_on = tuple(corpus.name for corpus in corpora)
    weights = replace(fit(plain, personal), fitted_on=fitted_on, command=command)
    held_out = leave_one_out(plain, weights, personal)
    seen = outcomes(corpora, held_out)
    return Learned(calibrated(weights, seen), calibrated_folds(held_out, seen))
