"""What memories teach without labels."""

import numpy as np
import pytest
from retrieve_records import SPACE, random_unit, talk

from seedmem.adapt import Adapter
from seedmem.vectors import Matrix

pytest.importorskip("torch", reason="needs the extra learn")

from seedmem.learn.config import LABEL_FREE
from seedmem.learn.label_free import fit_label_free, introduce, made_of
from seedmem.learn.retrain import Trial
from seedmem.learn.served import corpus_of, served_rank

TEXTS = [f"Ada: I took the {thing} to the shed" for thing in ("lamp", "violin", "kettle", "drum")]


def encode(texts: list[str]) -> Matrix:
    return np.array([random_unit(len(text)) for text in texts])


def test_questions_are_made_of_memories_and_answered_by_them():
    state = talk(TEXTS, role="Ada")

    made = made_of(state, encode)

    assert len(made.texts) == len(made.examples) > len(TEXTS)
    for text, (gold,) in zip(made.texts, made.examples.golds, strict=True):
        thing = TEXTS[gold].split()[4]
        assert thing in text or "shed" in text or "Ada" in text


def test_what_is_fitted_has_a_map_and_a_lexicon_of_the_words_told():
    state = talk(TEXTS, role="Ada")

    adapter = fit_label_free(state, corpus_of(state), made_of(state, encode), version=4)

    assert adapter.version == 4
    assert adapter.hidden == LABEL_FREE.hidden
    assert adapter.lexicon is not None
    assert len(adapter.lexicon.words) == 6  # took, shed, and four things


def test_a_fifth_of_the_questions_judges_what_the_others_teach():
    state = talk(TEXTS, role="Ada")
    made, identity = made_of(state, encode), Adapter.identity(SPACE)
    rank = served_rank(state, made.examples, made.texts)
    trial = Trial(corpus_of(state), identity, rank, np.arange(0))

    found = introduce(state, made, trial, version=1)

    assert found.decision.overall.current.questions == len(made.texts) // 5
