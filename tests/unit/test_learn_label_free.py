"""What memories teach without labels, and by which questions that is judged."""

import numpy as np
import pytest
from retrieve_records import SPACE, random_unit, talk

from seedmem.adapt import Adapter
from seedmem.vectors import Matrix

pytest.importorskip("torch", reason="needs the extra learn")

from seedmem.learn.config import LABEL_FREE
from seedmem.learn.examples import Examples
from seedmem.learn.label_free import Pseudo, _unsaid, fit_label_free, introduce, made_of
from seedmem.learn.served import corpus_of

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


def test_a_question_is_judged_without_the_words_of_its_memory():
    asked = ("What did Ada take to the shed?", "Where is the old lamp, Ada?")
    examples = Examples(queries=encode(list(asked)), golds=((1,), (0,)))

    unsaid = _unsaid(talk(TEXTS, role="Ada"), Pseudo(examples=examples, texts=asked))

    assert unsaid == ["What did Ada take to the", "Where is the old Ada?"]


def test_what_is_fitted_has_a_map_and_a_lexicon_of_the_words_told():
    state = talk(TEXTS, role="Ada")

    adapter = fit_label_free(state, corpus_of(state), made_of(state, encode), version=4)

    assert adapter.version == 4
    assert adapter.hidden == LABEL_FREE.hidden
    assert adapter.lexicon is not None
    assert len(adapter.lexicon.words) == 6  # took, shed, and four things


def test_the_gate_is_told_of_both_ways_to_ask():
    state = talk(TEXTS, role="Ada")
    identity = Adapter.identity(SPACE)

    found = introduce(state, corpus_of(state), made_of(state, encode), current=identity, version=1)

    assert found.decision.slices.keys() == {"as they are"}
    assert found.decision.overall.current.questions > 0
