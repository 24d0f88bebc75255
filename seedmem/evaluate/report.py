"""From answers to the rows of the report, and the flat form that two runs are compared by."""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from seedmem.evaluate.methods import LEARNED
from seedmem.evaluate.metrics import METRICS, Values, auroc, differences, judge, means
from seedmem.evaluate.run import Asked, Split

Row = dict[str, Any]
"""data, split, stratum, method, n, metrics, p50_ms, p99_ms, vs: {baseline, metric → Difference}."""

_POINTS = 20  # of the coverage–accuracy curve


def rows(asked: Sequence[Asked], seen: Collection[str], *, baseline: str) -> list[Row]:
    """Return the rows of every data set, stratum and method, over questions that have gold.

    Strata: ``all``, ``vague`` (always there), each category, each ``user:ID``. ``seen`` names the
    data sets that the weights were fitted on, whose users were each left out in turn.
    """
    made = []
    for data in dict.fromkeys(a.data for a in asked):
        judged = _Judged([a for a in asked if a.data == data and a.case.gold])
        learned: Split = "leave-one-user-out" if data in seen else "frozen"
        for stratum, member in _strata(judged.asked):
            head = {"data": data, "split": learned, "stratum": stratum}
            made += judged.rows(head, member, baseline)
    return made


class _Judged:
    """The questions of one data set with each method's metrics."""

    def __init__(self, asked: Sequence[Asked]) -> None:
        self.asked = asked
        self._methods = list(asked[0].outcomes) if asked else []
        gold = [a.case.gold for a in asked]
        self._values = {
            method: judge([a.outcomes[method].ranking for a in asked], gold)
            for method in self._methods
        }

    def rows(self, head: Row, member: Callable[[Asked], bool], baseline: str) -> list[Row]:
        chosen = np.flatnonzero([member(a) for a in self.asked])
        made = []
        for method in self._methods:
            row = head | {"method": method, "n": len(chosen)}
            if method not in LEARNED:
                row["split"] = "none"
            if len(chosen):
                values = _chosen(self._values[method], chosen)
                row |= means(values) | self._times(method, chosen)
                if method != baseline and baseline in self._values:
                    found = differences(values, _chosen(self._values[baseline], chosen))
                    row["vs"] = {"baseline": baseline} | {m: asdict(d) for m, d in found.items()}
            made.append(row)
        return made

    def _times(self, method: str, chosen: Iterable[int]) -> Row:
        taken = [self.asked[index].outcomes[method].seconds * 1000 for index in chosen]
        p50, p99 = np.percentile(taken, [50, 99])
        return {"p50_ms": float(p50), "p99_ms": float(p99)}


def abstention(asked: Sequence[Asked], *, method: str) -> list[Row]:
    """Return, for each data set with unanswerable questions, how well confidence tells them.

    ``auroc``: chance that an answerable question is the surer; ``abstained``: share of each kind;
    ``curve``: accuracy at 1 among the surest share of all questions, where abstaining on an
    unanswerable one is right and answering it is wrong.
    """
    made = []
    for data in dict.fromkeys(a.data for a in asked):
        own = [a for a in asked if a.data == data and method in a.outcomes]
        answerable = np.array([bool(a.case.gold) for a in own])
        if answerable.all() or not answerable.any():
            continue
        sure = np.array([a.outcomes[method].confidence for a in own])
        quiet = np.array([a.outcomes[method].abstained for a in own])
        made.append(
            {
                "data": data,
                "method": method,
                "answerable": int(answerable.sum()),
                "unanswerable": int((~answerable).sum()),
                "auroc": auroc(sure, answerable),
                "abstained": {
                    "answerable": float(quiet[answerable].mean()),
                    "unanswerable": float(quiet[~answerable].mean()),
                },
                "curve": _curve(sure, [_right(a, method) for a in own]),
            }
        )
    return made


def questions(asked: Sequence[Asked]) -> list[Row]:
    """Return everything about each question by each method: ranks of gold, top hits, parts."""
    return [
        {
            "data": a.data,
            "user_id": a.user_id,
            "id": a.case.id,
            "text": a.case.query.text,
            "category": a.case.category,
            "vague": a.case.vague,
            "method": method,
            "gold": {id_: _place(outcome.ranking, id_) for id_ in sorted(a.case.gold)},
            "confidence": outcome.confidence,
            "abstained": outcome.abstained,
            "ms": outcome.seconds * 1000,
            "hits": [
                {"memory_id": hit.memory_id, "score": hit.score, "parts": dict(hit.parts)}
                for hit in outcome.hits
            ],
        }
        for a in asked
        for method, outcome in a.outcomes.items()
    ]


def compare(older: Sequence[Row], newer: Sequence[Row]) -> list[Row]:
    """Return what changed between the ``questions`` of two runs, by data set and method.

    Only questions that both runs asked count; ``changed`` lists those whose best rank moved.
    """
    before = {_key(row): row for row in older if row["gold"]}
    groups: dict[tuple[str, str], list[tuple[Row, Row]]] = {}
    for row in newer:
        if _key(row) in before:
            groups.setdefault((row["data"], row["method"]), []).append((before[_key(row)], row))
    return [
        {"data": data, "method": method, "n": len(pairs)} | _changes(pairs)
        for (data, method), pairs in groups.items()
    ]


def _changes(pairs: Sequence[tuple[Row, Row]]) -> Row:
    gold = [frozenset({"gold"})] * len(pairs)
    old, new = (judge([_as_ranking(pair[side]) for pair in pairs], gold) for side in (0, 1))
    found = differences(new, old)
    changed = [
        {"user_id": b["user_id"], "id": b["id"], "text": b["text"], "from": best(a), "to": best(b)}
        for a, b in pairs
        if best(a) != best(b)
    ]
    return {
        "from": means(old),
        "to": means(new),
        "difference": {metric: asdict(difference) for metric, difference in found.items()},
        "changed": changed,
    }


def best(question: Row) -> int | None:
    """Return the best place of a gold memory, from 1; None if none was found."""
    places = [place for place in question["gold"].values() if place is not None]
    return min(places, default=None)


def _as_ranking(question: Row) -> list[str]:
    """Return a ranking of one gold at its best place: what any-gold metrics depend on."""
    place = best(question)
    return [] if place is None else [*(f"other{n}" for n in range(1, place)), "gold"]


def _key(row: Row) -> tuple[str, str, str, str]:
    return row["data"], row["user_id"], row["id"], row["method"]


def _chosen(values: Mapping[str, Values], rows: Any) -> dict[str, Values]:
    return {metric: values[metric][rows] for metric in METRICS}


def _strata(asked: Sequence[Asked]) -> list[tuple[str, Callable[[Asked], bool]]]:
    def of_category(name: str) -> Callable[[Asked], bool]:
        return lambda a: a.case.category == name

    def of_user(name: str) -> Callable[[Asked], bool]:
        return lambda a: a.user_id == name

    categories = sorted({a.case.category for a in asked})
    users = dict.fromkeys(a.user_id for a in asked)
    return [
        ("all", lambda a: True),
        ("vague", lambda a: a.case.vague),
        *((name, of_category(name)) for name in categories),
        *((f"user:{name}", of_user(name)) for name in users),
    ]


def _curve(sure: Values, right: Sequence[bool]) -> list[dict[str, float]]:
    order = np.argsort(-sure, kind="stable")
    hits = np.cumsum(np.array(right, dtype=float)[order])
    counts = np.unique(np.linspace(1, len(order), _POINTS).round().astype(int))
    return [
        {"coverage": c / len(order), "accuracy": float(hits[c - 1] / c)} for c in counts.tolist()
    ]


def _right(asked: Asked, method: str) -> bool:
    ranking = asked.outcomes[method].ranking
    return bool(ranking) and ranking[0] in asked.case.gold


def _place(ranking: Sequence[str], memory_id: str) -> int | None:
    return ranking.index(memory_id) + 1 if memory_id in ranking else None
