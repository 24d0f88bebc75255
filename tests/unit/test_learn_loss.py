"""The losses against their equations, written out in plain Python."""

import math

import pytest
import torch

from seedmem.errors import ShapeError
from seedmem.learn.loss import info_nce, pairwise, recovery

COSINES = [[0.9, 0.1, 0.4], [0.2, 0.3, -0.5]]
TARGETS = [0, 2]


def _info_nce(cosines: list[list[float]], targets: list[int], tau: float, masked: set) -> float:
    total = 0.0
    for i, (row, target) in enumerate(zip(cosines, targets, strict=True)):
        terms = [math.exp(s / tau) for j, s in enumerate(row) if (i, j) not in masked]
        total -= math.log(math.exp(row[target] / tau) / sum(terms))
    return total / len(cosines)


@pytest.mark.parametrize("tau", [0.05, 1.0])
def test_info_nce_is_the_equation(tau: float):
    loss = info_nce(torch.tensor(COSINES), torch.tensor(TARGETS), temperature=tau)

    assert float(loss) == pytest.approx(_info_nce(COSINES, TARGETS, tau, set()), rel=1e-5)


def test_a_masked_candidate_is_no_negative():
    masked = torch.tensor([[False, False, True], [True, False, False]])

    loss = info_nce(torch.tensor(COSINES), torch.tensor(TARGETS), masked=masked)

    assert float(loss) == pytest.approx(_info_nce(COSINES, TARGETS, 0.05, {(0, 2), (1, 0)}), 1e-5)


def test_the_positive_is_never_masked():
    everything = torch.ones(2, 3, dtype=torch.bool)

    loss = info_nce(torch.tensor(COSINES), torch.tensor(TARGETS), masked=everything)

    assert float(loss) == 0.0


def test_info_nce_is_log_c_when_all_look_alike():
    loss = info_nce(torch.full((4, 7), 0.3), torch.tensor([0, 1, 2, 6]))

    assert float(loss) == pytest.approx(math.log(7))


def test_pairwise_is_the_equation():
    loss = pairwise(torch.tensor(COSINES), torch.tensor(TARGETS), temperature=0.5)

    expected = [
        math.log(1 + math.exp((s - row[t]) / 0.5))
        for row, t in zip(COSINES, TARGETS, strict=True)
        for j, s in enumerate(row)
        if j != t
    ]
    assert float(loss) == pytest.approx(sum(expected) / len(expected), rel=1e-5)


def test_pairwise_with_nothing_to_compare_is_zero():
    everything = torch.ones(2, 3, dtype=torch.bool)

    assert float(pairwise(torch.tensor(COSINES), torch.tensor(TARGETS), masked=everything)) == 0.0


def test_recovery_is_the_mean_squared_distance():
    adapted, queries = (
        torch.tensor([[1.0, 0.0], [0.0, 1.0]]),
        torch.tensor([[1.0, 0.0], [1.0, 0.0]]),
    )

    assert float(recovery(adapted, queries)) == 1.0  # (0 + 2) / 2


@pytest.mark.parametrize("loss", [info_nce, pairwise])
def test_bad_arguments_are_refused(loss):
    with pytest.raises(ValueError, match="temperature must be positive, got 0"):
        loss(torch.tensor(COSINES), torch.tensor(TARGETS), temperature=0)
    with pytest.raises(ShapeError, match=r"targets: got shape \(1,\), want \(2,\)"):
        loss(torch.tensor(COSINES), torch.tensor([0]))
    with pytest.raises(ShapeError, match=r"masked: got shape \(1, 3\), want \(2, 3\)"):
        loss(torch.tensor(COSINES), torch.tensor(TARGETS), masked=torch.zeros(1, 3).bool())
