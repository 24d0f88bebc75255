"""The gate: a candidate adapter ships only if it is better, on questions it has not seen."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from seedmem.errors import ShapeError

Ranks = NDArray[np.int64]
"""(n,): rank of the best gold memory of each question, from 1."""

Rule = Literal["few", "chance", "not-better", "own-words", "slice", "better"]
"""What decided: too few questions, pairs that are no better than chance, no gain, a loss on
memories asked for in their own words or on a kind of question; or that all rules are kept."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GateConfig:
    """What a candidate must show."""

    significance: float = 0.05
    """Largest p of the paired test at which a gain is believed."""
    slice_bound: float = 0.05
    """Most mean reciprocal rank that a slice may lose."""
    probe_bound: float = 0.2
    """Most that memories asked for in their own words may lose: an adapter may move statements,
    which are no questions, but not away from themselves."""
    fewest: int = 12
    """Questions below which nothing is judged, and a slice is not looked at."""
    plausibility: float = 0.001
    """Largest p at which the pairs themselves are believed."""
    resamples: int = 4_000
    """Draws of the paired test and of the interval."""
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Metrics:
    """How well a set of questions is answered; each in [0, 1]."""

    questions: int
    recall_at_1: float
    recall_at_10: float
    mrr: float

    @classmethod
    def of(cls, ranks: Ranks) -> "Metrics":
        """Return the metrics of ``ranks``; all 0 for none."""
        if not ranks.size:
            return cls(questions=0, recall_at_1=0.0, recall_at_10=0.0, mrr=0.0)
        return cls(
            questions=int(ranks.size),
            recall_at_1=float(np.mean(ranks <= 1)),
            recall_at_10=float(np.mean(ranks <= 10)),
            mrr=float(np.mean(1 / ranks)),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Compared:
    """The current and the candidate adapter on the same questions."""

    current: Metrics
    candidate: Metrics

    @property
    def lost(self) -> float:
        """Mean reciprocal rank that the candidate loses."""
        return self.current.mrr - self.candidate.mrr


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What the gate decided, and every number that it decided by."""

    shipped: bool
    reason: str
    overall: Compared
    slices: Mapping[str, Compared]
    probe: Compared
    """On memories asked for in their own words."""
    gain: float
    """Mean difference of reciprocal ranks, candidate − current."""
    interval: tuple[float, float]
    """95 % paired bootstrap interval of ``gain``."""
    p_value: float
    """One-sided, of the paired sign-flip test of ``gain`` > 0."""
    pairs_p_value: float
    """One-sided, of the sign test that golds rank in the upper half of the user's memories."""
    rule: Rule | None = None
    """The first rule that was broken, or ``better``; None where an older release decided."""


def judge(
    current: Ranks,
    candidate: Ranks,
    *,
    memories: int,
    probe: tuple[Ranks, Ranks],
    slices: Mapping[str, tuple[Ranks, Ranks]] | None = None,
    config: GateConfig | None = None,
) -> Decision:
    """Return whether ``candidate`` replaces ``current``, and why.

    Args:
        current: ranks under the score that serving uses, with the adapter that serves now.
        candidate: of the same questions, with the new one. Neither has seen them.
        memories: how many were ranked.
        probe: ranks, (current, candidate), of memories asked for in their own words.
        slices: more ranks, (current, candidate), of kinds of question that must not suffer.
        config: what a candidate must show.

    Raises:
        ShapeError: ``current`` and ``candidate`` do not rank the same number of questions.
    """
    if current.shape != candidate.shape:
        raise ShapeError("candidate ranks", got=candidate.shape, want=current.shape)
    config = config or GateConfig()
    gains = 1 / candidate - 1 / current
    decision = Decision(
        shipped=False,
        reason="",
        overall=_compared(current, candidate),
        slices={name: _compared(*ranks) for name, ranks in (slices or {}).items()},
        probe=_compared(*probe),
        gain=float(gains.mean()) if gains.size else 0.0,
        interval=_interval(gains, config),
        p_value=_sign_flip(gains, config),
        pairs_p_value=_upper_half(current, memories),
    )
    rule, reason = _ruling(decision, config)
    return replace(decision, shipped=rule == "better", reason=reason, rule=rule)


def _ruling(decision: Decision, config: GateConfig) -> tuple[Rule, str]:
    """Return the first rule that the candidate breaks, and the numbers; ``better`` for none."""
    questions = decision.overall.current.questions
    if questions < config.fewest:
        return "few", f"too few held-out questions: got {questions}, want {config.fewest}"
    if decision.pairs_p_value > config.plausibility:
        p = decision.pairs_p_value
        wanted = f"want at most {config.plausibility}"
        return "chance", f"pairs rank no better than chance: p = {p:.3g}, {wanted}"
    if decision.p_value > config.significance:
        p = decision.p_value
        wanted = f"want {config.significance}"
        return "not-better", f"not better: MRR {decision.gain:+.4f}, p = {p:.3g}, {wanted}"
    if decision.probe.lost > config.probe_bound:
        lost = f"{decision.probe.lost:.4f} MRR, allowed {config.probe_bound}"
        return "own-words", f"own words lose {lost}"
    for name, compared in decision.slices.items():
        if compared.current.questions >= config.fewest and compared.lost > config.slice_bound:
            lost = f"{compared.lost:.4f} MRR, allowed {config.slice_bound}"
            return "slice", f"slice {name!r} loses {lost}"
    return "better", "better, by the paired test"


def _compared(current: Ranks, candidate: Ranks) -> Compared:
    return Compared(current=Metrics.of(current), candidate=Metrics.of(candidate))


def _sign_flip(gains: NDArray[np.float64], config: GateConfig) -> float:
    """Return the one-sided p of mean(gains) > 0, were each gain as likely with the other sign.

    Source: Fisher's randomisation test for pairs, sampled.
    """
    moved = gains[gains != 0]  # a question that did not move has no sign to flip
    if not moved.size:
        return 1.0
    draw = np.random.default_rng(config.seed).integers(0, 2, (config.resamples, moved.size))
    flipped = (2 * draw - 1) @ moved  # (resamples,)
    at_least = np.count_nonzero(flipped >= moved.sum() - 1e-12)  # 1e-12: rounding of a tie
    return float((1 + at_least) / (1 + config.resamples))


def _interval(gains: NDArray[np.float64], config: GateConfig) -> tuple[float, float]:
    """Return the 95 % bootstrap interval of mean(gains); (0, 0) for none."""
    if not gains.size:
        return 0.0, 0.0
    even = np.full(gains.size, 1 / gains.size)
    counts = np.random.default_rng(config.seed).multinomial(gains.size, even, config.resamples)
    low, high = np.quantile(counts @ gains / gains.size, [0.025, 0.975])
    return float(low), float(high)


def _upper_half(ranks: Ranks, memories: int) -> float:
    """Return the one-sided p of the golds' being in the upper half of ``memories`` that often."""
    upper = int(np.count_nonzero(ranks <= memories / 2))
    tail = sum(math.comb(ranks.size, k) for k in range(upper, ranks.size + 1))
    return float(tail / 2**ranks.size)
