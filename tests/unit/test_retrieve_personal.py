"""What a user's own adapter and lexicon add to the score, and that they add nothing elsewhere."""

import numpy as np
import pytest
from retrieve_records import DIM, SPACE, memory, random_unit, state_of, talk

from seedmem.adapt import Adapter, Lexicon
from seedmem.retrieve import Query, Weights, retrieve, shipped
from seedmem.retrieve.features import Features
from seedmem.text import hash_terms

TEXTS = ["the physio called", "tea and cake", "physio and cake", "rain again"]


def lexicon(**favoured: float) -> Lexicon:
    """Return one that favours words by as much, whatever is asked."""
    hashes = [int(hash_terms([word])[0]) for word in favoured]
    order = np.argsort(hashes)
    bias = np.array(list(favoured.values()))[order]
    return Lexicon(
        words=np.array(hashes, np.uint32)[order],
        asked=np.zeros(0, np.uint32),
        query_map=np.zeros((1, DIM)),
        query_bias=np.zeros(1),
        asked_map=np.zeros((0, 1)),
        word_map=np.zeros((len(bias), 1)),
        word_bias=bias,
        background=np.zeros(len(bias)),
    )


def adapter(seed: int = 3, words: Lexicon | None = None) -> Adapter:
    draw = np.random.default_rng(seed).normal
    return Adapter(
        space=SPACE,
        version=1,
        alpha=1.0,
        w1=draw(size=(4, DIM)),
        b1=draw(size=4),
        w2=draw(size=(DIM, 4)),
        b2=draw(size=DIM),
        lexicon=words,
    )


def test_an_adapter_is_the_difference_that_it_makes_to_the_cosines():
    state, query = talk(TEXTS), Query(vector=random_unit(9))

    features = Features(state, query, adapter())

    bent = state.vectors @ adapter().apply(random_unit(9))
    plain = state.vectors @ random_unit(9)
    standard = [(c - c.mean()) / c.std() for c in (bent, plain)]
    assert features.bent == pytest.approx(standard[0] - standard[1], abs=1e-5)


def test_without_an_adapter_there_is_neither():
    state, query = talk(TEXTS), Query(text="physio?", vector=random_unit(9))

    for chosen in (None, Adapter.identity(SPACE)):
        features = Features(state, query, chosen)
        assert not features.bent.any()
        assert not features.own_words.any()


def test_a_memory_whose_words_the_lexicon_favours_is_raised():
    words = lexicon(physio=2.0, cake=-1.0)
    state = talk(TEXTS)

    found = Features(state, Query(text="my leg?", vector=random_unit(9)), adapter(words=words))

    total = np.log(np.exp(2.0) + np.exp(-1.0))
    physio, cake = 2.0 - total, -1.0 - total
    raw = np.array([physio / 5**0.5, cake / 5**0.5, (physio + cake) / 6**0.5, 0.0])
    assert found.own_words == pytest.approx((raw - raw.mean()) / raw.std(), abs=1e-3)


def test_a_memory_that_is_newer_than_the_lexicon_is_counted_too():
    words, query = lexicon(physio=1.0, cake=0.0), Query(text="leg?", vector=random_unit(9))
    state = talk(TEXTS)
    before = Features(state, query, adapter(words=words)).own_words

    state.apply(memory(4, "another physio"))
    after = Features(state, query, adapter(words=words)).own_words

    assert len(after) == len(before) + 1
    assert after[4] == after[0]


def test_weights_of_users_with_a_lexicon_are_theirs_alone():
    state, query = talk(TEXTS), Query(text="physio?", vector=random_unit(9))
    weights = Weights(lookup={"keyword": 1.0}, personal={"own_words": 1.0})

    plain = retrieve(state, query, weights=weights)
    bent = retrieve(state, query, weights=weights, adapter=adapter())
    personal = retrieve(state, query, weights=weights, adapter=adapter(words=lexicon(rain=1.0)))

    assert set(plain.hits[0].parts) == set(bent.hits[0].parts) == {"keyword"}
    assert set(personal.hits[0].parts) == {"own_words"}


def test_no_vector_and_no_memory_are_no_trouble():
    words = lexicon(physio=1.0)

    asked = retrieve(talk(TEXTS), Query(text="physio?"), adapter=adapter(words=words))
    empty = retrieve(state_of(), Query(vector=random_unit(9)), adapter=adapter(words=words))

    assert len(asked.hits) == len(TEXTS)
    assert not empty.hits


def test_what_is_shipped_knows_both():
    assert {"bent", "own_words"} <= set(shipped().personal)
    assert shipped().lookup["bent"] == shipped().personal["bent"]
