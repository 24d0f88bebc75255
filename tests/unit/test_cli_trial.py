"""The demo's counting, against numbers worked out by hand."""

import pytest

from seedmem.evaluate.datasets import QueryItem
from streams.cli.trial import Life, score


def life(*golds: str) -> Life:
    questions = (
        QueryItem(user_id="demo", id=f"q{number}", text="?", gold=tuple(gold.split()))
        for number, gold in enumerate(golds)
    )
    return Life((), tuple(questions))


def test_recall_and_mrr_count_the_first_gold_memory_of_each_question() -> None:
    rankings = [
        ["a", "b"],  # rank 1
        ["x", "y", "z", "b"],  # rank 4: of two gold memories the first counts
        ["x"],  # not found
        [],  # nothing found
    ]

    found = score("dense", rankings, life("a", "c b", "b", "a"))

    assert (found.recall_1, found.recall_5, found.recall_10) == (0.25, 0.5, 0.5)
    assert found.mrr == pytest.approx((1 + 1 / 4) / 4)


def test_what_is_found_at_rank_11_is_not_found() -> None:
    ranking = [f"x{number}" for number in range(10)] + ["a"]

    found = score("dense", [ranking], life("a"))

    assert (found.recall_10, found.mrr) == (0.0, 0.0)


def test_the_bundled_life_is_read_whole() -> None:
    bundled = Life.bundled()

    assert (len(bundled.memories), len(bundled.questions)) == (152, 40)
