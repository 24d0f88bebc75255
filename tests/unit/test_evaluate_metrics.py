"""Metrics, intervals and confidence measures against numbers worked out by hand."""

import numpy as np
import pytest

from seedmem.evaluate.metrics import auroc, differences, judge

pytest.importorskip("pytrec_eval", reason="needs the extra eval")


def test_metrics_of_rankings_worked_out_by_hand():
    rankings = [["a", "x"], ["x", "y", "b"], [f"x{n}" for n in range(11)] + ["c"], []]
    gold = [frozenset("a"), frozenset("b"), frozenset("c"), frozenset("d")]

    found = judge(rankings, gold)

    assert found["recall@1"].tolist() == [1, 0, 0, 0]
    assert found["recall@5"].tolist() == [1, 1, 0, 0]
    assert found["recall@10"].tolist() == [1, 1, 0, 0]
    assert found["mrr"] == pytest.approx([1, 1 / 3, 1 / 12, 0])
    assert found["ndcg@10"] == pytest.approx([1, 1 / np.log2(4), 0, 0])


def test_any_of_several_golds_counts_as_recalled_and_all_of_them_as_gain():
    found = judge([["x", "a", "b"]], [frozenset("ab")])

    assert found["recall@5"].tolist() == [1]
    ideal = 1 + 1 / np.log2(3)
    assert found["ndcg@10"] == pytest.approx([(1 / np.log2(3) + 1 / np.log2(4)) / ideal])


def test_a_paired_difference_counts_wins_and_losses_and_holds_its_mean():
    rng = np.random.default_rng(4)
    base = {m: rng.integers(0, 2, 400).astype(float) for m in METRIC_NAMES}
    better = {m: np.where(rng.random(400) < 0.2, 1.0, v) for m, v in base.items()}

    found = differences(better, base)["recall@1"]

    gain = better["recall@1"] - base["recall@1"]
    error = 1.96 * gain.std() / 20  # the normal interval: 20 is the root of 400
    assert (found.won, found.lost) == (int(gain.sum()), 0)
    assert found.delta == pytest.approx(gain.mean())
    assert found.low == pytest.approx(gain.mean() - error, abs=0.006)
    assert found.high == pytest.approx(gain.mean() + error, abs=0.006)


METRIC_NAMES = ("recall@1", "recall@5", "recall@10", "mrr", "ndcg@10")


def test_auroc_counts_pairs_and_half_of_ties():
    sure = np.array([0.9, 0.5, 0.5, 0.1])
    right = np.array([True, True, False, False])

    assert auroc(sure, right) == pytest.approx(3.5 / 4)


def test_auroc_of_one_kind_alone_is_not_a_number():
    assert np.isnan(auroc(np.array([0.1, 0.2]), np.array([True, True])))
