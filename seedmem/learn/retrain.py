"""Make a candidate adapter, rank what it has not seen, and let the gate decide."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import Adapter, Lexicon
from seedmem.learn.config import FitConfig
from seedmem.learn.examples import Corpus, Examples, Rows, apart, folds
from seedmem.learn.fit import fit
from seedmem.learn.gate import Decision, GateConfig, Ranks, judge

Rank = Callable[[Adapter, Rows], Ranks]
"""Ranks of the best golds of the questions at these positions, by the score that serving uses."""

Slices = Mapping[str, NDArray[np.bool_]]

_OUTER_FOLDS = 4
_PROBES = 200  # memories that are asked for in their own words
_TIE = 1e-5  # cosines this near are the rounding of one


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrained:
    """A candidate and what the gate made of it."""

    candidate: Adapter
    decision: Decision


@dataclass(frozen=True, slots=True)
class Trial:
    """What a candidate has to beat, and on which questions."""

    corpus: Corpus
    current: Adapter
    rank: Rank
    judged: Rows
    """Positions of the questions, which neither adapter was fitted on."""
    slices: Slices = field(default_factory=dict)
    """Masks over all questions, of kinds that must not suffer."""
    config: GateConfig | None = None

    def decide(self, candidate: Adapter, ranks: Ranks | None = None) -> Retrained:
        """Return the gate's decision; ``ranks`` of the judged questions if not the candidate's."""
        before = self.rank(self.current, self.judged)
        after = self.rank(candidate, self.judged) if ranks is None else ranks
        masks = {name: mask[self.judged] for name, mask in self.slices.items()}
        decision = judge(
            before,
            after,
            memories=len(self.corpus.memories),
            probe=own_words(self.current, candidate, self.corpus),
            slices={name: (before[mask], after[mask]) for name, mask in masks.items()},
            config=self.config,
        )
        return Retrained(candidate=candidate, decision=decision)


def retrain(
    examples: Examples,
    corpus: Corpus,
    *,
    current: Adapter,
    rank: Rank,
    version: int,
    lexicon: Lexicon | None = None,
    unseen: Rows | None = None,
    slices: Slices | None = None,
    fit_config: FitConfig | None = None,
    gate_config: GateConfig | None = None,
) -> Retrained:
    """Return an adapter fitted on all ``examples``, and the gate's decision on how it was made.

    Questions are judged by cross-fitting: each by a model that was fitted, in the same way, on
    questions of other folds that share no answer with it. So all of them count as held out.

    Args:
        examples: the user's questions.
        corpus: the user's memories.
        current: the adapter that serves now.
        rank: how serving ranks with an adapter.
        version: number of the candidate, should it ship.
        lexicon: of the candidate; it has not seen the questions.
        unseen: questions that ``current`` was not fitted on; None means all. Only these are judged.
        slices: masks over the questions, of kinds that must not suffer.
        fit_config: how to fit.
        gate_config: what the candidate must show.

    Raises:
        SupervisionError: too few questions to hold some out.
        AdapterError: the fit ended in weights that are not finite.
    """
    judged = np.arange(len(examples)) if unseen is None else unseen

    def fitted(part: Examples) -> Adapter:
        found = fit(part, corpus, version=version, config=fit_config).adapter
        return replace(found, lexicon=lexicon)

    ranks = _cross_fitted(examples, fitted, rank, judged, (fit_config or FitConfig()).seed)
    trial = Trial(corpus, current, rank, judged, slices or {}, gate_config)
    return trial.decide(fitted(examples), ranks)


def own_words(current: Adapter, candidate: Adapter, corpus: Corpus) -> tuple[Ranks, Ranks]:
    """Return the ranks, by cosine, of memories whose own vector is the query.

    The truth is known here without any pair, so pairs that lie consistently, and would
    pass a test on each other, still show.
    """
    rows = np.unique(corpus.twin_of)
    rows = rows[np.linspace(0, len(rows) - 1, min(_PROBES, len(rows))).astype(np.int64)]

    def ranks(adapter: Adapter) -> Ranks:
        cosines = adapter.apply(corpus.memories[rows]) @ corpus.memories.T  # (p, m)
        own = np.take_along_axis(cosines, rows[:, None], axis=1) + _TIE
        return np.asarray(1 + np.count_nonzero(cosines > own, axis=1), dtype=np.int64)

    return ranks(current), ranks(candidate)


def _cross_fitted(
    examples: Examples, fitted: Callable[[Examples], Adapter], rank: Rank, judged: Rows, seed: int
) -> Ranks:
    """Return the ranks of ``judged``, each by a model that was fitted on other folds."""
    fold = folds(examples.golds, count=_OUTER_FOLDS, seed=seed)
    ranks = np.zeros(len(examples), dtype=np.int64)
    for held_out in np.unique(fold[judged]):
        training, inside = apart(examples.golds, fold, int(held_out))
        asked = inside[np.isin(inside, judged)]
        ranks[asked] = rank(fitted(examples.take(training)), asked)
    return ranks[judged]
