"""What a simulation found: tables of every round, user and decision, and curves."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.pupils import SCORES
from benchmarks.report import Cell, Curves, Result, Target
from seedmem.evaluate.methods import FULL
from seedmem.evaluate.metrics import METRICS, Difference, Values, differences, means
from streams.supervision import Verdict

ADAPTED = {score: f"{score} + adapter" for score in SCORES}
SHOWN = {"recall@1": "Recall@1", "mrr": "MRR"}


@dataclass(frozen=True, kw_only=True)
class Found:
    """One user after one round."""

    user_id: str
    pairs: int
    """That the service has been taught."""
    version: int
    """Of the adapter that serves; 0 is none."""
    verdicts: Sequence[Verdict]
    """All decisions so far, the first one first."""
    differing: int
    """Questions whose served ranking is not the one in process."""
    values: Mapping[str, Mapping[str, Values]]
    """Method → metric → (questions,). ``full + adapter`` is what was served."""

    @property
    def questions(self) -> int:
        return len(self.values[FULL]["mrr"])

    def gained(self, score: str) -> Mapping[str, Difference]:
        """Return what the adapter adds to ``score``, by metric."""
        return differences(self.values[ADAPTED[score]], self.values[score])

    def is_worse(self, score: str) -> bool:
        """Return whether the adapter takes from ``score``, by an interval below 0."""
        gained = self.gained(score)
        return any(gained[metric].high < 0 for metric in SHOWN)


Round = Sequence[Found]


def results(rounds: Sequence[Round]) -> list[Result]:
    """Return the tables of all rounds; the first is before any pair."""
    return [_by_round(rounds), _by_user(rounds), _decisions(rounds[-1])]


def _by_round(rounds: Sequence[Round]) -> Result:
    last = rounds[-1]
    note = (
        f"{len(last)} users, {sum(f.questions for f in last):,} held-out questions, asked over "
        "Kafka after every round; no memory answers both a pair and a held-out question. Pairs "
        "are the mean of a user. `full + adapter` is what the service answered, with whatever "
        "adapter its gate had let through; the other rows are ranked in process, from the state "
        "as stored. In brackets the difference to the same score without adapter, with its paired "
        "95 % interval. The shipped weights of the full score may have been fitted on these very "
        "users (`fitted_on` names the data): with and without adapter they are the same, so the "
        "differences are fair and the level of full leans high."
    )
    worse = sum(found.is_worse(FULL) for found in last)
    differing = sum(found.differing for round_ in rounds for found in round_)
    return Result(
        name="simulation",
        title="Users who teach the service",
        note=note,
        columns=("round", "pairs", "method", *SHOWN.values()),
        rows=[row for number, round_ in enumerate(rounds) for row in _rows(number, round_)],
        targets=(
            Target(claim="users whose served answers end significantly worse", value=worse,
                   bound=0),
            Target(claim="served answers that differ from those in process", value=differing,
                   bound=0),
        ),
        curves=_curves(rounds),
    )  # fmt: skip


def _rows(number: int, round_: Round) -> Iterator[list[Cell]]:
    """Yield the rows without adapter before the first round, and those with one after each."""
    values = _pooled(round_)
    for score in SCORES:
        if not number:
            plain = means(values[score])
            yield ["0", 0.0, score, *(f"{plain[metric]:.3f}" for metric in SHOWN)]
        else:
            adapted = means(values[ADAPTED[score]])
            gained = differences(values[ADAPTED[score]], values[score])
            cells = (f"{adapted[m]:.3f} ({_text(gained[m])})" for m in SHOWN)
            yield [str(number), _pairs(round_), ADAPTED[score], *cells]


def _by_user(rounds: Sequence[Round]) -> Result:
    columns = ("user", "held out", "pairs", "shipped", "kept out")
    gains = (f"full, {name}" for name in SHOWN.values())
    return Result(
        name="simulation-users",
        title="Each user of the simulation, after the last round",
        note=(
            "Difference of the served answers to the full score without adapter, with paired 95 % "
            "intervals. `significantly worse` looks at Recall@1 and MRR of all three scores after "
            "every round, and would name a few users by chance alone where nothing is gained."
        ),
        columns=(*columns, *gains, "significantly worse"),
        rows=[_user_row([round_[at] for round_ in rounds]) for at in range(len(rounds[-1]))],
    )


def _user_row(course: Sequence[Found]) -> list[Cell]:
    """Return the row of one user, from what was found round by round."""
    last = course[-1]
    shipped = sum(verdict.shipped for verdict in last.verdicts)
    counts = last.questions, last.pairs, shipped, len(last.verdicts) - shipped
    gained = last.gained(FULL)
    worse = [f"{s}, {found.pairs} pairs" for found in course for s in SCORES if found.is_worse(s)]
    return [
        last.user_id,
        *map(float, counts),
        *(_text(gained[metric]) for metric in SHOWN),
        "; ".join(worse) or "never",
    ]


def _decisions(last: Round) -> Result:
    verdicts = [(found.user_id, verdict) for found in last for verdict in found.verdicts]
    rules = Counter(_rule(verdict) for _, verdict in verdicts if not verdict.shipped)
    kept_out = ", ".join(f"{count} {rule}" for rule, count in rules.most_common()) or "none"
    return Result(
        name="simulation-decisions",
        title="What the gate decided",
        note=f"{len(verdicts) - rules.total()} adapters shipped; kept out: {kept_out}.",
        columns=("user", "pairs", "learned from", "questions", "outcome", "s", "reason"),
        rows=[_decision_row(user_id, verdict) for user_id, verdict in verdicts],
    )


def _rule(verdict: Verdict) -> str:
    """Return what kept an adapter out."""
    return (verdict.gate and verdict.gate.rule) or "declined"


def _decision_row(user_id: str, verdict: Verdict) -> list[Cell]:
    outcome = f"version {verdict.version} ships" if verdict.shipped else "kept out"
    learned = verdict.lesson, float(verdict.questions)
    return [user_id, float(verdict.pairs), *learned, outcome, verdict.took, verdict.reason]


def _curves(rounds: Sequence[Round]) -> tuple[Curves, ...]:
    pooled = [_pooled(round_) for round_ in rounds]
    return tuple(
        Curves(
            x_label="pairs of a user",
            y_label=f"{name} of held-out questions",
            x=[_pairs(round_) for round_ in rounds],
            lines={
                method: [means(values[method])[metric] for values in pooled]
                for score in SCORES
                for method in (score, ADAPTED[score])
            },
            logarithmic=False,
            dashed=SCORES,
        )
        for metric, name in SHOWN.items()
    )


def _pooled(round_: Round) -> dict[str, dict[str, Values]]:
    """Return the values of all users' questions, one user after another."""
    return {
        method: {
            metric: np.concatenate([found.values[method][metric] for found in round_])
            for metric in METRICS
        }
        for method in (*SCORES, *ADAPTED.values())
    }


def _pairs(round_: Round) -> float:
    return float(np.mean([found.pairs for found in round_]))


def _text(difference: Difference) -> str:
    return f"{difference.delta:+.3f} [{difference.low:+.3f}, {difference.high:+.3f}]"
