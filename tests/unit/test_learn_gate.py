"""The gate: numbers by hand, every refusal, and poisoned supervision that never ships."""

import numpy as np
import pytest
from learnable_user import corpus, examples

from seedmem.adapt import Activation, Adapter
from seedmem.errors import SupervisionError
from seedmem.learn.config import FitConfig
from seedmem.learn.examples import Corpus, Examples, Rows
from seedmem.learn.fit import fit
from seedmem.learn.gate import Decision, GateConfig, Metrics, judge
from seedmem.learn.pairs import Pair, gather
from seedmem.learn.retrain import Rank, Retrained, Trial, own_words, retrain

QUICK = FitConfig(members=2, hidden=32, epochs=20, batch=16, learning_rate=1e-2)


def _judge(current: list[int], candidate: list[int], **more: object) -> Decision:
    same = (np.ones(20), np.ones(20))
    more = {"memories": 100, "probe": same} | more
    return judge(np.array(current), np.array(candidate), **more)


def _rank(of: Examples, user: Corpus) -> Rank:
    """Serving's rank, with a score that is the cosine alone."""

    def rank(adapter: Adapter, questions: Rows) -> np.ndarray:
        cosines = adapter.apply(of.queries[questions]) @ user.memories.T
        best = [max(row[list(of.golds[q])]) for q, row in zip(questions, cosines, strict=True)]
        return 1 + (cosines > np.array(best)[:, None]).sum(axis=1)

    return rank


def _retrain(of: Examples, user: Corpus, **more: object) -> Retrained:
    identity = Adapter.identity(user.space)
    return retrain(
        of, user, current=identity, rank=_rank(of, user), version=1, fit_config=QUICK, **more
    )


def test_metrics_are_the_usual_ones():
    assert Metrics.of(np.array([1, 2, 10, 20])) == Metrics(
        questions=4, recall_at_1=0.25, recall_at_10=0.75, mrr=(1 + 0.5 + 0.1 + 0.05) / 4
    )


def test_a_better_candidate_ships_and_the_numbers_are_kept():
    decision = _judge([2] * 20, [1] * 15 + [2] * 5)

    assert decision.shipped
    assert decision.gain == pytest.approx(15 * 0.5 / 20)
    assert decision.interval[0] > 0
    assert decision.p_value == pytest.approx(1 / 4001)  # no draw out of 4,000 flips 15 to one side
    assert decision.overall.candidate.recall_at_1 == 0.75


def test_the_p_value_is_that_of_the_exact_test():
    decision = _judge([2] * 16, [1, 1, 1, 4] + [2] * 12)
    # gains ½ ½ ½ −¼: of the 16 sign patterns, +++− and ++++ reach their sum

    assert decision.p_value == pytest.approx(2 / 16, abs=0.02)


def test_nothing_gained_is_nothing_shipped():
    decision = _judge([2] * 20, [2] * 20)

    assert not decision.shipped
    assert decision.reason == "not better: MRR +0.0000, p = 1, want 0.05"


def test_too_few_questions_decide_nothing():
    decision = _judge([2] * 11, [1] * 11)

    assert decision.reason == "too few held-out questions: got 11, want 12"
    assert not _judge([], []).shipped


def test_pairs_that_look_like_chance_are_not_believed():
    decision = _judge([20, 80] * 10, [1] * 20)

    assert not decision.shipped
    assert decision.reason.startswith("pairs rank no better than chance: p = 0.588")


def test_a_slice_that_loses_keeps_the_candidate_out():
    slices = {"vague": (np.array([1] * 12), np.array([2] * 12))}

    decision = _judge([2] * 40, [1] * 40, slices=slices)

    assert decision.reason == "slice 'vague' loses 0.5000 MRR, allowed 0.05"
    assert _judge([2] * 40, [1] * 40, slices=slices, config=GateConfig(slice_bound=0.6)).shipped


def test_a_candidate_that_forgets_what_memories_say_is_kept_out():
    decision = _judge([2] * 40, [1] * 40, probe=(np.ones(20), np.full(20, 2)))

    assert decision.reason == "own words lose 0.5000 MRR, allowed 0.2"


def test_an_adapter_that_helps_ships_and_was_judged_on_every_question():
    user = corpus()

    outcome = _retrain(examples(user), user)

    assert outcome.decision.shipped, outcome.decision.reason
    assert outcome.candidate.version == 1
    assert outcome.decision.overall.current.questions == 60
    assert outcome.decision.probe.current.mrr == 1.0


def test_only_questions_that_the_current_adapter_has_not_seen_are_judged():
    user = corpus()
    first = np.arange(60) < 40

    outcome = _retrain(examples(user), user, unseen=np.arange(25, 60), slices={"first": first})

    assert outcome.decision.overall.current.questions == 35
    assert outcome.decision.slices["first"].current.questions == 15


def test_a_candidate_that_saw_no_question_is_judged_as_it_is():
    user = corpus()
    asked = examples(user)
    trial = Trial(user, Adapter.identity(user.space), _rank(asked, user), np.arange(40, 60))

    kept_out = trial.decide(Adapter.identity(user.space))
    learned = fit(asked.take(range(40)), user, version=1, config=QUICK).adapter

    assert not kept_out.decision.shipped
    assert trial.decide(learned).decision.shipped
    assert trial.decide(learned).decision.overall.current.questions == 20


@pytest.mark.parametrize("seed", range(5))
def test_random_labels_never_ship(seed: int):
    user = corpus()
    honest = examples(user)
    golds = tuple((int(g),) for g in np.random.default_rng(seed).permutation(80)[:60])

    outcome = _retrain(Examples(queries=honest.queries, golds=golds), user)

    assert not outcome.decision.shipped


@pytest.mark.parametrize("seed", range(3))
def test_flipped_labels_never_ship(seed: int):
    """What each question is least like is said to be its answer, so that pairs agree in a lie."""
    user = corpus(seed=seed)
    honest = examples(user)
    worst = np.argmin(honest.queries @ user.memories.T, axis=1)

    outcome = _retrain(
        Examples(queries=honest.queries, golds=tuple((int(w),) for w in worst)), user
    )

    assert not outcome.decision.shipped


def test_an_adapter_that_turns_everything_around_loses_its_own_words():
    user = corpus()
    turned = Adapter(
        space=user.space,
        version=1,
        alpha=1.0,
        activation=Activation.NONE,
        w1=np.eye(16),
        b1=np.zeros(16),
        w2=-2 * np.eye(16),
        b2=np.zeros(16),
    )
    before, after = own_words(Adapter.identity(user.space), turned, user)

    assert before.tolist() == [1] * 80
    assert after.tolist() == [80] * 80


def test_identical_pairs_never_ship():
    user = corpus()
    pair = Pair(memory_id="m3", vector=examples(user).queries[0], at=1.0)

    evidence = gather([pair] * 200, user)

    assert len(evidence.examples) == 1
    with pytest.raises(SupervisionError, match="too few"):
        _retrain(evidence.examples, user)


def test_one_memory_for_every_question_never_ships():
    user = corpus()
    all_one = Examples(queries=examples(user).queries, golds=((3,),) * 60)

    with pytest.raises(SupervisionError, match="too few"):
        _retrain(all_one, user)


def test_nan_pairs_never_reach_a_fit():
    user = corpus()
    honest = examples(user)
    nan = np.full(16, np.nan, dtype=np.float32)
    pairs = [Pair(memory_id=f"m{i}", vector=honest.queries[i], at=i) for i in range(60)]
    spoiled = [Pair(memory_id=f"m{i}", vector=nan, at=i) for i in range(60)]

    evidence = gather(pairs + spoiled, user)

    assert np.array_equal(evidence.examples.queries.shape, (60, 16))
    assert np.isfinite(_retrain(evidence.examples, user).candidate.w2).all()
