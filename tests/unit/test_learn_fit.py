"""Fitting: it learns what can be learned, the same every time, and leaves the process as it was."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from learnable_user import DIM, asked, corpus, examples

from seedmem.adapt import Activation, Adapter, to_bytes
from seedmem.errors import SupervisionError
from seedmem.learn.config import PUBLISHED, FitConfig
from seedmem.learn.examples import Corpus, Examples
from seedmem.learn.fit import fit
from seedmem.learn.model import Residual, committee
from seedmem.vectors import VectorSpace

QUICK = FitConfig(members=2, hidden=32, epochs=20, batch=16, learning_rate=1e-2)


def _mrr(adapter: Adapter, user: Corpus, questions: slice) -> float:
    cosines = adapter.apply(asked(user.memories)[questions]) @ user.memories.T
    own = cosines[np.arange(len(cosines)), np.arange(len(user.memories))[questions]]
    return float(np.mean(1 / (1 + (cosines > own[:, None]).sum(axis=1))))


@pytest.mark.parametrize(
    "config",
    [
        QUICK,
        replace(QUICK, recovery_weight=0.0),
        replace(QUICK, negatives="batch"),
        replace(QUICK, negatives="batch", hard_negatives=0),
        replace(QUICK, activation=Activation.NONE, hidden=DIM),
        replace(QUICK, activation=Activation.NONE, hidden=8),
        replace(QUICK, objective="pairwise"),
        replace(QUICK, subject_weight=0.0),
        replace(PUBLISHED, learning_rate=1e-2, epochs=40),
    ],
    ids=lambda config: f"{config.activation}-{config.hidden}-{config.negatives}-{config.objective}",
)
def test_every_way_to_fit_helps_questions_it_has_not_seen(config: FitConfig):
    user = corpus(120)

    fitted = fit(examples(user, 80), user, version=4, config=config)

    unseen = slice(80, 120)
    assert fitted.adapter.version == 4
    assert fitted.loss_after < fitted.loss_before
    assert _mrr(fitted.adapter, user, unseen) > _mrr(Adapter.identity(user.space), user, unseen)


def test_the_same_arguments_give_the_same_bytes_whatever_the_global_seed():
    user = corpus()
    torch.manual_seed(1)
    first = fit(examples(user), user, version=1, config=QUICK).adapter
    torch.manual_seed(2)

    second = fit(examples(user), user, version=1, config=QUICK).adapter
    other = fit(examples(user), user, version=1, config=replace(QUICK, seed=9)).adapter

    assert to_bytes(first, user_id="ada") == to_bytes(second, user_id="ada")
    assert to_bytes(first, user_id="ada") != to_bytes(other, user_id="ada")


def test_a_fit_leaves_threads_and_random_state_as_they_were():
    user = corpus()
    threads, state = torch.get_num_threads(), torch.random.get_rng_state()

    fit(examples(user), user, version=1, config=replace(QUICK, threads=1))

    assert torch.get_num_threads() == threads
    assert torch.equal(torch.random.get_rng_state(), state)


def test_an_unfitted_model_is_the_identity():
    noise = torch.Generator().manual_seed(0)
    models = [
        Residual(DIM, 8, alpha=0.3, activation=Activation.GELU, dropout=0.1, noise=noise)
        for _ in range(2)
    ]
    queries = examples(corpus()).queries

    adapter = committee(models, VectorSpace("hash", DIM), 1)

    assert adapter.apply(queries) == pytest.approx(queries, abs=1e-6)


def test_numpy_serves_what_torch_trained():
    noise = torch.Generator().manual_seed(0)
    model = Residual(DIM, 8, alpha=0.3, activation=Activation.GELU, dropout=0.5, noise=noise)
    torch.nn.init.normal_(model.w2, generator=noise)
    queries = examples(corpus()).queries

    served = committee([model], VectorSpace("hash", DIM), 1).apply(queries)

    assert served == pytest.approx(
        model.eval()(torch.from_numpy(queries)).detach().numpy(), abs=2e-3
    )


@pytest.mark.parametrize(
    "golds",
    [((0,),) * 20, ((0,),), ()],
    ids=["all one memory", "one question", "none"],
)
def test_too_little_to_hold_out_is_said(golds: tuple[tuple[int, ...], ...]):
    user = corpus()
    few = Examples(queries=examples(user).queries[: len(golds)], golds=golds)

    with pytest.raises(SupervisionError, match="too few to hold some out"):
        fit(few, user, version=1, config=QUICK)


def test_a_user_without_subjects_is_fitted_too():
    user = corpus()
    bare = Corpus(
        space=user.space,
        memory_ids=user.memory_ids,
        memories=user.memories,
        subjects=user.subjects[:0],
        links=user.links[:0],
    )

    assert fit(examples(bare), bare, version=1, config=QUICK).loss_after > 0
