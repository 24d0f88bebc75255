"""What a query adapter adds to a way of ranking: the rows of ``eval --adapters``.

``X+adapter`` is fitted to half of a user's own questions and asked the other half, no memory
answering in both, under several seeds; ``X+label-free`` to questions made of the memories
alone, and asked everything. Each is compared with X on the same questions. Dense and fusion are
asked with the bent vector; the full score is served, with the lexicon that both kinds have. No
gate is between: these rows say what an adapter is worth, not what would ship.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace

import numpy as np
from numpy.typing import NDArray

from seedmem.adapt import Adapter
from seedmem.errors import SupervisionError
from seedmem.evaluate.corpus import Case, Corpus, Encodes, User
from seedmem.evaluate.methods import FULL, METHODS
from seedmem.evaluate.metrics import METRICS, Values, differences, judge, means
from seedmem.evaluate.report import Row
from seedmem.evaluate.run import DEPTH, Fitted
from seedmem.learn.config import FitConfig
from seedmem.learn.examples import Examples, apart, folds
from seedmem.retrieve import Weights, retrieve
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


def label_free(
    corpora: Sequence[Corpus], encoder: Encodes, *, track: Track = iter
) -> dict[str, Adapter]:
    """Return the adapter that each user's memories teach, by ``data/user``.

    A user of whose memories no question can be made has none.
    """
    from seedmem.learn.label_free import fit_label_free, made_of
    from seedmem.learn.served import corpus_of

    found = {}
    for data, user in track([(corpus.name, user) for corpus in corpora for user in corpus.users]):
        pseudo, corpus = made_of(user.state, encoder.encode), corpus_of(user.state)
        with suppress(SupervisionError):
            adapter = fit_label_free(user.state, corpus, pseudo, version=1)
            found[f"{data}/{user.user_id}"] = adapter
    return found


def adapter_rows(
    corpora: Sequence[Corpus],
    free: Mapping[str, Adapter],
    fitted: Fitted,
    shipped: Weights,
    *,
    config: FitConfig | None = None,
    track: Track = iter,
) -> list[Row]:
    """Return a row for each data set, stratum (all, vague, user), score and kind of adapter.

    Args:
        corpora: the data sets.
        free: what ``label_free`` made of them.
        fitted: weights of the full score for users that ``shipped`` has seen.
        shipped: weights for all others.
        config: how to fit to own questions.
        track: shows progress.
    """
    results: dict[str, list[_Result]] = {}
    for data, user in track([(corpus.name, user) for corpus in corpora for user in corpus.users]):
        cases = [case for case in user.cases if _answerable(user, case)]
        if cases:
            owner = f"{data}/{user.user_id}"
            asker = _Asker(user, cases, fitted.get(owner, shipped))
            trials = _trials(user, cases, free.get(owner), config or FitConfig())
            results.setdefault(data, []).append(_result(asker, trials))
    return [row for data, found in results.items() for row in _rows(data, found)]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Result:
    """One user's metrics, by question."""

    user_id: str
    vague: NDArray[np.bool_]
    plain: Mapping[str, Mapping[str, Values]]
    """Score → metric → (questions,)."""
    adapted: Mapping[tuple[str, str], Mapping[str, Values]]
    """(score, kind) → metric → (questions,): the mean over the trials that asked, NaN if none."""


def _answerable(user: User, case: Case) -> bool:
    there = any(user.state.row_of(id_) is not None for id_ in case.gold)
    return there and case.query.vector is not None


def _trials(
    user: User, cases: Sequence[Case], free: Adapter | None, config: FitConfig
) -> list[Trial]:
    """Fit the adapters of one user to its own questions, and add the label-free one."""
    from seedmem.learn.fit import fit
    from seedmem.learn.served import corpus_of

    corpus = corpus_of(user.state)
    golds = [tuple(corpus.row_of[i] for i in case.gold if i in corpus.row_of) for case in cases]
    asked = Examples(queries=_vectors(cases), golds=tuple(golds))
    lexicon = None if free is None else free.lexicon
    trials = []
    for seed in range(SEEDS):
        training, tested = apart(golds, folds(golds, count=2, seed=seed), 0)
        try:
            own = fit(asked.take(training), corpus, version=1, config=replace(config, seed=seed))
        except SupervisionError:  # so few questions that the user would keep the identity
            continue
        adapter = replace(own.adapter, lexicon=lexicon)
        trials.append(Trial(kind="adapter", tested=tested, adapter=adapter))
    if free is not None:
        trials.append(Trial(kind="label-free", tested=np.arange(len(cases)), adapter=free))
    return trials


def _vectors(cases: Sequence[Case]) -> Matrix:
    return np.array([case.query.vector for case in cases], dtype=np.float32)


@dataclass(frozen=True, slots=True)
class _Asker:
    """One user with its questions, and the weights of the full score."""

    user: User
    cases: Sequence[Case]
    weights: Weights

    def ranking(self, score: str, case: Case, adapter: Adapter) -> list[str]:
        """Return ids, best first, as ``score`` ranks them with ``adapter``."""
        query, state = replace(case.query, k=DEPTH), self.user.state
        if score == FULL:
            answer = retrieve(state, query, adapter=adapter, weights=self.weights)
        else:
            [bent] = adapter.apply(_vectors([case]))
            method = METHODS[score](self.user.user_id, self.weights)
            answer = method(state, replace(query, vector=bent))
        return [hit.memory_id for hit in answer.hits]

    def judged(self, score: str, trials: Sequence[Trial]) -> dict[str, Values]:
        """Return each metric of each case: the mean over the trials that asked it, else NaN."""
        sums = {metric: np.zeros(len(self.cases)) for metric in METRICS}
        times = np.zeros(len(self.cases))
        for trial in trials:
            asked = [self.cases[i] for i in trial.tested.tolist()]
            rankings = [self.ranking(score, case, trial.adapter) for case in asked]
            for metric, values in judge(rankings, [case.gold for case in asked]).items():
                sums[metric][trial.tested] += values
            times[trial.tested] += 1
        return {metric: total / np.where(times, times, np.nan) for metric, total in sums.items()}


def _result(asker: _Asker, trials: Sequence[Trial]) -> _Result:
    identity = Adapter.identity(asker.user.state.space)
    untried = Trial(kind="", tested=np.arange(len(asker.cases)), adapter=identity)
    kinds = dict.fromkeys(trial.kind for trial in trials)
    return _Result(
        user_id=asker.user.user_id,
        vague=np.array([case.vague for case in asker.cases]),
        plain={score: asker.judged(score, [untried]) for score in SCORES},
        adapted={
            (score, kind): asker.judged(score, [t for t in trials if t.kind == kind])
            for score in SCORES
            for kind in kinds
        },
    )


def _rows(data: str, results: Sequence[_Result]) -> Iterable[Row]:
    """Yield the rows of one data set: of all questions, the vague ones, and each user's."""
    vague = np.concatenate([result.vague for result in results])
    users = np.repeat([r.user_id for r in results], [len(r.vague) for r in results])
    strata = {"all": np.ones_like(vague), "vague": vague}
    strata |= {f"user:{user_id}": users == user_id for user_id in dict.fromkeys(users.tolist())}
    for key in dict.fromkeys(key for result in results for key in result.adapted):
        score, kind = key
        with_, without = (
            {m: np.concatenate([r[m] for r in side]) for m in METRICS}
            for side in (
                [r.adapted.get(key, r.plain[score]) for r in results],  # identity if not fitted
                [r.plain[score] for r in results],
            )
        )
        split = {"split": "half" if kind == "adapter" else "none"}
        for stratum, member in strata.items():
            kept = member & np.isfinite(with_["mrr"])
            row = {"data": data, "stratum": stratum, "method": f"{score}+{kind}"} | split
            yield row | _compared(score, with_, without, kept)


def _compared(
    score: str,
    with_: Mapping[str, Values],
    without: Mapping[str, Values],
    kept: NDArray[np.bool_],
) -> Row:
    """Return n, the means of ``with_`` and its differences from ``without``, where ``kept``."""
    row: Row = {"n": int(kept.sum())}
    if kept.any():
        adapted = {m: values[kept] for m, values in with_.items()}
        found = differences(adapted, {m: values[kept] for m, values in without.items()})
        row |= means(adapted)
        row["vs"] = {"baseline": score} | {m: asdict(d) for m, d in found.items()}
    return row
