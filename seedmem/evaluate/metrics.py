"""What a ranking is worth, question by question, by trec_eval; and paired intervals between two."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

METRICS = ("recall@1", "recall@5", "recall@10", "mrr", "ndcg@10")
"""Recall@k is 1 if any gold memory is among the first k, as in the figures we compare with."""

_TREC = {
    "recall@1": "success_1",
    "recall@5": "success_5",
    "recall@10": "success_10",
    "mrr": "recip_rank",
    "ndcg@10": "ndcg_cut_10",
}
_DRAWS = 2_000  # of the bootstrap
_SEED = 20_240_501

Values = NDArray[np.float64]  # (questions,)


def judge(rankings: Sequence[Sequence[str]], gold: Sequence[frozenset[str]]) -> dict[str, Values]:
    """Return each metric of each question.

    Args:
        rankings: of each question, memory ids, best first.
        gold: of each question, the ids that answer; at least one.
    """
    import pytrec_eval

    numbers = [str(number) for number in range(len(gold))]
    wanted = {n: dict.fromkeys(ids, 1) for n, ids in zip(numbers, gold, strict=True)}
    measures = {"success.1,5,10", "recip_rank", "ndcg_cut.10"}
    judged = pytrec_eval.RelevanceEvaluator(wanted, measures).evaluate(
        {
            number: {id_: float(-place) for place, id_ in enumerate(ids)}
            for number, ids in zip(numbers, rankings, strict=True)
            if ids
        }
    )
    return {
        metric: np.array([judged.get(number, {}).get(trec, 0.0) for number in numbers])
        for metric, trec in _TREC.items()
    }


@dataclass(frozen=True, slots=True)
class Difference:
    """One method minus another on the same questions."""

    delta: float
    low: float
    high: float
    """95 % interval, by paired bootstrap over the questions."""
    won: int
    lost: int


def differences(
    values: Mapping[str, Values], baseline: Mapping[str, Values]
) -> dict[str, Difference]:
    """Return the paired difference of two methods in each metric; at least one question."""
    deltas = {metric: values[metric] - baseline[metric] for metric in METRICS}
    draws = _draws(len(deltas[METRICS[0]]))
    return {metric: _difference(column, draws) for metric, column in deltas.items()}


def _difference(deltas: Values, draws: NDArray[np.float64]) -> Difference:
    low, high = np.percentile(draws @ deltas, [2.5, 97.5])
    return Difference(
        delta=float(deltas.mean()),
        low=float(low),
        high=float(high),
        won=int((deltas > 0).sum()),
        lost=int((deltas < 0).sum()),
    )


@lru_cache(maxsize=4)
def _draws(questions: int) -> NDArray[np.float64]:
    """Return (draws, questions): the weight of each question in each resample."""
    counts = np.random.default_rng(_SEED).multinomial(
        questions, np.full(questions, 1 / questions), size=_DRAWS
    )
    return counts / questions


def auroc(sure: Values, right: NDArray[np.bool_]) -> float:
    """Return the chance that a right case is surer than a wrong one; ties count half."""
    order = np.argsort(sure, kind="stable")
    _, inverse, counts = np.unique(sure[order], return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[inverse]
    rights = int(right.sum())
    wrongs = len(right) - rights
    if rights == 0 or wrongs == 0:
        return float("nan")
    total = ranks[right[order]].sum()
    return float((total - rights * (rights + 1) / 2) / (rights * wrongs))


def means(values: Mapping[str, Values]) -> dict[str, float]:
    """Return the mean of each metric."""
    return {metric: float(column.mean()) for metric, column in values.items()}
