"""A lexicon learns which words answer, the same each time, and from anything that has words."""

import numpy as np
import pytest

from seedmem.errors import SupervisionError
from seedmem.text import Terms, hash_terms

pytest.importorskip("torch", reason="needs the extra learn")

from seedmem.learn.config import LexiconConfig
from seedmem.learn.lexicon import Lessons, fit_lexicon

QUICK = LexiconConfig(hidden=16, epochs=60, batch=8, learning_rate=1e-2)
SAID = ("harbour", "violin", "orchard", "kettle", "lantern", "meadow")
SAME = np.full(8, 8**-0.5, np.float32)
ASKED = ("port", "fiddle", "trees", "pot", "lamp", "field")


def words(*chosen: str) -> Terms:
    return hash_terms(chosen)


def lessons(**changes: object) -> Lessons:
    """Each memory has a word of its own and one that all have; a question has another word.

    All questions have one vector, so that only their keywords tell them apart.
    """
    fields = {
        "told": [words("house", said) for said in SAID],
        "beside": np.full((6, 2), -1),
        "asked": [words(asked) for asked in ASKED] * 3,
        "vectors": np.tile(SAME, (18, 1)),
        "answers": np.tile(np.arange(6), 3),
    }
    return Lessons(**(fields | changes))


def test_a_question_reaches_for_words_that_it_does_not_have():
    lexicon = fit_lexicon(lessons(), QUICK)

    for said, asked in zip(SAID, ASKED, strict=True):
        favours = lexicon.favours(SAME, words(asked))
        assert lexicon.words[favours.argmax()] == words(said)[0]


def test_the_words_of_a_neighbour_are_favoured_too():
    beside = np.full((6, 2), -1)
    beside[0] = (-1, 1)  # "violin" comes after "harbour"

    lexicon = fit_lexicon(lessons(beside=beside), QUICK)

    favours = lexicon.favours(SAME, words("port"))
    best = [lexicon.words[place] for place in np.argsort(-favours)[:2]]
    assert best == [words("harbour")[0], words("violin")[0]]


def test_the_same_lessons_give_the_same_lexicon():
    one, other = fit_lexicon(lessons(), QUICK), fit_lexicon(lessons(), QUICK)

    assert one.word_map.tobytes() == other.word_map.tobytes()
    assert one.background.tobytes() == other.background.tobytes()


def test_memories_without_words_teach_nothing():
    silent = [words() for _ in SAID]

    with pytest.raises(SupervisionError, match="no memory has a keyword"):
        fit_lexicon(lessons(told=silent), QUICK)


def test_one_memory_and_questions_without_keywords_are_enough():
    only = lessons(
        told=[words("harbour")],
        beside=np.full((1, 2), -1),
        asked=[words()],
        vectors=SAME[None],
        answers=np.zeros(1, np.int64),
    )

    assert fit_lexicon(only, QUICK).words.tolist() == words("harbour").tolist()
