"""Make a candidate adapter, rank what it has not seen, and let the gate decide."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import Adapter
from seedmem.learn.config import LABEL_FREE, FitConfig
from seedmem.learn.examples import Corpus, Examples, Rows, apart, folds
from seedmem.learn.fit import fit
from seedmem.learn.gate import Decision, GateConfig, Ranks, judge

Rank = Callable[[Adapter, Rows], Ranks]
"""Ranks of the best golds of the questions at these positions, by the score that serving uses."""

_OUTER_FOLDS = 4
_PSEUDO_PARTS = 5  # one of which is enough to judge by: pseudo-queries are many
_PROBES = 200  # memories that are asked for in their own words
_TIE = 1e-5  # cosines this near are the rounding of one


@dataclass(frozen=True, slots=True, kw_only=True)
class Retrained:
    """A candidate and what the gate made of it."""

    candidate: Adapter
    decision: Decision


def retrain(
    examples: Examples,
    corpus: Corpus,
    *,
    current: Adapter,
    rank: Rank,
    version: int,
    unseen: Rows | None = None,
    slices: Mapping[str, NDArray[np.bool_]] | None = None,
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
        unseen: questions that ``current`` was not fitted on; None means all. Only these are judged.
        slices: masks over the questions, of kinds that must not suffer.
        fit_config: how to fit.
        gate_config: what the candidate must show.

    Raises:
        SupervisionError: too few questions to hold some out.
        AdapterError: the fit ended in weights that are not finite.
    """
    judged = np.arange(len(examples)) if unseen is None else unseen
    candidate_ranks = _cross_fitted(examples, corpus, rank, judged, fit_config)
    current_ranks = rank(current, judged)
    candidate = fit(examples, corpus, version=version, config=fit_config).adapter
    masks = {name: mask[judged] for name, mask in (slices or {}).items()}
    decision = judge(
        current_ranks,
        candidate_ranks,
        memories=len(corpus.memories),
        probe=own_words(current, candidate, corpus),
        slices={name: (current_ranks[m], candidate_ranks[m]) for name, m in masks.items()},
        config=gate_config,
    )
    return Retrained(candidate=candidate, decision=decision)


def introduce(
    pseudo: Examples,
    corpus: Corpus,
    *,
    rank: Rank,
    version: int,
    fit_config: FitConfig = LABEL_FREE,
    gate_config: GateConfig | None = None,
) -> Retrained:
    """Return a first adapter, fitted to pseudo-queries without any label, and the gate's decision.

    A fifth of the pseudo-queries is held out of the fit and judged against the identity. The
    memories that answer them are known when it serves, so they may answer others in the fit.
    Arguments and errors as in ``retrain``.
    """
    shuffled = np.random.default_rng(fit_config.seed).permutation(len(pseudo))
    held_out, training = np.split(shuffled, [len(pseudo) // _PSEUDO_PARTS])
    candidate = fit(pseudo.take(training), corpus, version=version, config=fit_config).adapter
    identity = Adapter.identity(corpus.space)
    decision = judge(
        rank(identity, held_out),
        rank(candidate, held_out),
        memories=len(corpus.memories),
        probe=own_words(identity, candidate, corpus),
        config=gate_config,
    )
    return Retrained(candidate=candidate, decision=decision)


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
    examples: Examples, corpus: Corpus, rank: Rank, judged: Rows, config: FitConfig | None
) -> Ranks:
    """Return the ranks of ``judged``, each by a model that was fitted on other folds."""
    fold = folds(examples.golds, count=_OUTER_FOLDS, seed=(config or FitConfig()).seed)
    ranks = np.zeros(len(examples), dtype=np.int64)
    for held_out in np.unique(fold[judged]):
        training, inside = apart(examples.golds, fold, int(held_out))
        asked = inside[np.isin(inside, judged)]
        fitted = fit(examples.take(training), corpus, version=0, config=config)
        ranks[asked] = rank(fitted.adapter, asked)
    return ranks[judged]
