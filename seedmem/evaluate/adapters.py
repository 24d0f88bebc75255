"""What a query adapter adds to a way of ranking: the rows of ``eval --adapters``.

``X+adapter`` is fitted to half of a user's own questions and asked the other half, no memory
answering in both, under several seeds; ``X+label-free`` to questions made of the memories
alone, and asked everything. Each is compared with X on the same questions. No gate is
between: these rows say what an adapter is worth, not what would ship.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import Adapter
from seedmem.errors import SupervisionError
from seedmem.evaluate.corpus import Case, Corpus, Encodes, User
from seedmem.evaluate.methods import FULL, METHODS, Method
from seedmem.evaluate.metrics import METRICS, Values, differences, judge, means
from seedmem.evaluate.report import Row
from seedmem.evaluate.run import DEPTH, Fitted
from seedmem.extract import pseudo_queries
from seedmem.learn.config import LABEL_FREE, FitConfig
from seedmem.learn.examples import Examples, apart, folds
from seedmem.retrieve import Weights
from seedmem.vectors import Matrix

SCORES = ("dense", "fusion", FULL)
SEEDS = 5

Track = Callable[[Sequence[tuple[str, User]]], Iterable[tuple[str, User]]]
Tested = NDArray[np.intp]
"""Positions, among a user's cases, of those that were asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """One adapter of one user, and what it was asked."""

    kind: str
    """``adapter`` or ``label-free``."""
    tested: Tested
    adapter: Adapter


def adapter_rows(
    corpora: Sequence[Corpus],
    encoder: Encodes,
    fitted: Fitted,
    shipped: Weights,
    *,
    config: FitConfig | None = None,
    track: Track = iter,
) -> list[Row]:
    """Return a row for each data set, stratum (all, vague), score and kind of adapter.

    Args:
        corpora: the data sets.
        encoder: of their vectors; encodes the pseudo-queries.
        fitted: weights of the full score for users that ``shipped`` has seen.
        shipped: weights for all others.
        config: how to fit to own questions.
        track: shows progress.
    """
    results: dict[str, list[_Result]] = {}
    for data, user in track([(corpus.name, user) for corpus in corpora for user in corpus.users]):
        cases = [case for case in user.cases if _answerable(user, case)]
        if cases:
            weights = fitted.get(f"{data}/{user.user_id}", shipped)
            made = {score: METHODS[score](user.user_id, weights) for score in SCORES}
            trials = _trials(user, cases, encoder, config or FitConfig())
            results.setdefault(data, []).append(_result(user, cases, made, trials))
    return [row for data, found in results.items() for row in _rows(data, found)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """One user's metrics, by question."""

    vague: NDArray[np.bool_]
    plain: Mapping[str, Mapping[str, Values]]
    """Score → metric → (questions,)."""
    adapted: Mapping[tuple[str, str], Mapping[str, Values]]
    """(score, kind) → metric → (questions,): the mean over the trials that asked, NaN if none."""


def _answerable(user: User, case: Case) -> bool:
    there = any(user.state.row_of(id_) is not None for id_ in case.gold)
    return there and case.query.vector is not None


def _trials(user: User, cases: Sequence[Case], encoder: Encodes, config: FitConfig) -> list[Trial]:
    """Fit the adapters of one user."""
    from seedmem.learn.fit import fit
    from seedmem.learn.served import corpus_of

    corpus = corpus_of(user.state)
    golds = [tuple(corpus.row_of[i] for i in case.gold if i in corpus.row_of) for case in cases]
    asked = Examples(queries=_vectors(cases), golds=tuple(golds))
    trials = []
    for seed in range(SEEDS):
        training, tested = apart(golds, folds(golds, count=2, seed=seed), 0)
        try:
            own = fit(asked.take(training), corpus, version=1, config=replace(config, seed=seed))
        except SupervisionError:  # so few questions that the user would keep the identity
            continue
        trials.append(Trial(kind="adapter", tested=tested, adapter=own.adapter))
    pseudo = _pseudo(user, encoder)
    if len(pseudo):
        free = fit(pseudo, corpus, version=1, config=LABEL_FREE).adapter
        trials.append(Trial(kind="label-free", tested=np.arange(len(cases)), adapter=free))
    return trials


def _pseudo(user: User, encoder: Encodes) -> Examples:
    """Return the questions that are made of the user's memories; golds are corpus rows."""
    state = user.state
    memories = [state.memory(row) for row in np.flatnonzero(state.live).tolist()]
    made = pseudo_queries([m.text for m in memories], [m.role for m in memories])
    pairs = [(text, row) for row, texts in enumerate(made) for text in texts]
    queries = encoder.encode([text for text, _ in pairs])
    return Examples(queries=queries, golds=tuple((row,) for _, row in pairs))


def _vectors(cases: Sequence[Case]) -> Matrix:
    return np.array([case.query.vector for case in cases], dtype=np.float32)


def _result(
    user: User, cases: Sequence[Case], made: Mapping[str, Method], trials: Sequence[Trial]
) -> _Result:
    everything = np.arange(len(cases))
    identity = Trial(kind="", tested=everything, adapter=Adapter.identity(user.state.space))
    plain = {score: _judged(user, cases, made[score], [identity]) for score in made}
    kinds = dict.fromkeys(trial.kind for trial in trials)
    adapted = {
        (score, kind): _judged(user, cases, made[score], [t for t in trials if t.kind == kind])
        for score in made
        for kind in kinds
    }
    vague = np.array([case.vague for case in cases])
    return _Result(vague=vague, plain=plain, adapted=adapted)


def _judged(
    user: User, cases: Sequence[Case], method: Method, trials: Sequence[Trial]
) -> dict[str, Values]:
    """Return each metric of each case: the mean over the trials that asked it, NaN if none did."""
    sums = {metric: np.zeros(len(cases)) for metric in METRICS}
    times = np.zeros(len(cases))
    for trial in trials:
        asked = [cases[i] for i in trial.tested.tolist()]
        bent = trial.adapter.apply(_vectors(asked))
        rankings = [
            [hit.memory_id for hit in method(user.state, replace(c.query, vector=v, k=DEPTH)).hits]
            for c, v in zip(asked, bent, strict=True)
        ]
        for metric, values in judge(rankings, [case.gold for case in asked]).items():
            sums[metric][trial.tested] += values
        times[trial.tested] += 1
    return {metric: total / np.where(times, times, np.nan) for metric, total in sums.items()}


def _rows(data: str, results: Sequence[_Result]) -> Iterable[Row]:
    """Yield the rows of one data set."""
    vague = np.concatenate([result.vague for result in results])
    for stratum, member in (("all", np.ones_like(vague)), ("vague", vague)):
        for key in dict.fromkeys(key for result in results for key in result.adapted):
            score, kind = key
            with_, without = (
                {m: np.concatenate([r[m] for r in side]) for m in METRICS}
                for side in (
                    [r.adapted.get(key, r.plain[score]) for r in results],  # identity if not fitted
                    [r.plain[score] for r in results],
                )
            )
            kept = member & np.isfinite(with_["mrr"])
            row: Row = {"data": data, "stratum": stratum, "method": f"{score}+{kind}"}
            row |= {"split": "half" if kind == "adapter" else "none", "n": int(kept.sum())}
            if kept.any():
                adapted = {m: values[kept] for m, values in with_.items()}
                found = differences(adapted, {m: values[kept] for m, values in without.items()})
                row |= means(adapted)
                row["vs"] = {"baseline": score} | {m: asdict(d) for m, d in found.items()}
            yield row
