"""What each feature sees, on users small enough to work it out by hand."""

import numpy as np
import pytest
from retrieve_records import memory, random_unit, state_of, talk

from seedmem.retrieve import Query, Weights, retrieve, shipped
from seedmem.retrieve.confidence import CLUES
from seedmem.retrieve.features import FEATURES, Features


def column(state, name, text=None, vector=None, **query):
    return Features(state, Query(text=text, vector=vector, **query)).column(name)


def test_the_shipped_weights_name_features_and_clues_that_exist():
    weights = shipped()

    assert set(weights.lookup) <= set(FEATURES)
    assert set(weights.association) <= set(FEATURES)
    assert set(weights.confidence.clues) == set(CLUES)
    assert weights.fitted_on
    assert weights.command.startswith("seedmem eval fit")


def test_weights_survive_their_json():
    weights = shipped()

    again = Weights.from_json(weights.to_json())

    assert again.to_json() == weights.to_json()


def test_weights_of_another_form_are_refused():
    with pytest.raises(ValueError, match="these are no weights"):
        Weights.from_json('{"lookup": {}}')


def test_an_unknown_feature_is_refused_by_name():
    with pytest.raises(ValueError, match="no feature 'luck', want one of dense"):
        column(talk(["x"]), "luck", "x")


def test_dense_is_in_standard_scores():
    dense = column(talk([f"n {n}" for n in range(20)]), "dense", vector=random_unit(77))

    assert dense.mean() == pytest.approx(0.0, abs=1e-5)
    assert dense.std() == pytest.approx(1.0, abs=1e-5)


def test_keywords_that_occur_nowhere_score_nothing_anywhere():
    state = talk(["tea and cake", "bread"])

    for name in ("keyword", "keyword_window", "keyword_stretch"):
        assert not column(state, name, "zebra?").any()


def test_the_share_of_keywords_counts_those_that_occur_nowhere():
    state = state_of(memory(0, "tea", session="a"), memory(1, "bread", session="b"))

    share = column(state, "keyword_stretch", "tea zebra?")

    known, unknown = np.log1p((2 - 1 + 0.5) / 1.5), np.log1p((2 + 0.5) / 0.5)
    assert share == pytest.approx([known / (known + unknown), 0.0])


def test_a_short_turn_borrows_its_neighbours_keywords_and_a_long_one_does_not():
    long = " ".join(f"word{n}" for n in range(200))
    short = column(talk(["violin lessons?", "piano"]), "keyword_stretch", "violin")
    stands_alone = column(talk(["violin lessons?", long]), "keyword_stretch", "violin")

    assert short[1] == pytest.approx(np.exp(-1 / 20), abs=1e-4)
    assert stands_alone[1] < 1e-4


def test_talk_is_borrowed_from_eight_turns_a_side_and_no_further():
    state = talk(["filler"] * 10 + ["violin"] + ["filler"] * 10)

    share = column(state, "keyword_stretch", "violin")

    assert np.flatnonzero(share).tolist() == list(range(2, 19))


def test_notes_without_a_session_are_nobodys_neighbours_unless_written_in_one_go():
    apart = state_of(
        memory(0, "violin", at=0.0, session=None), memory(1, "yes", at=9e5, session=None)
    )
    timeless = state_of(memory(0, "violin", session=None), memory(1, "yes", session=None))
    together = state_of(
        memory(0, "violin", at=0.0, session=None), memory(1, "yes", at=60.0, session=None)
    )

    assert column(apart, "keyword_stretch", "violin")[1] == 0.0
    assert column(timeless, "keyword_stretch", "violin")[1] == 0.0
    assert column(together, "keyword_stretch", "violin")[1] > 0.9


def test_a_window_is_the_mean_of_what_is_there():
    state = talk(["a", "b", "c"])
    query = random_unit(42)

    window = column(state, "dense_window", vector=query)

    own = state.vectors @ query
    lends = np.exp(-state.length / 20)
    weights = np.array([[0, 0.5, 0.25], [0.5, 0, 0.5], [0.25, 0.5, 0]]) * lends[:, None]
    means = (own + weights @ own) / (1 + weights.sum(axis=1))
    assert window == pytest.approx((means - means.mean()) / means.std(), abs=1e-4)


def test_the_turn_after_a_question_like_the_query_is_a_reply():
    asked = random_unit(1)
    state = state_of(
        memory(0, "Hello there."),
        memory(1, "Where do you live now?", vector=asked),
        memory(2, "In Rome, near the river."),
        memory(3, "Nice."),
    )

    reply = column(state, "reply", "Where does he live?", asked)

    assert reply.argmax() == 2
    assert reply[[0, 1, 3]].tolist() == [0, 0, 0]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("What did Ada buy?", [1, 0]),
        ("what did bob’s sister buy", [0, 1]),
        ("What was bought?", [0, 0]),
        ("Ada or Bob?", [1, 1]),
    ],
)
def test_the_speaker_is_whom_the_question_names(text, wanted):
    state = state_of(memory(0, "Ada: I bought a boat"), memory(1, "Bob: I did not"))

    assert column(state, "speaker", text).tolist() == wanted


@pytest.mark.parametrize(
    ("text", "speaker", "assistant"),
    [
        ("Where did I park my car?", [1, 0], [0, 1]),
        ("What did you recommend to me?", [0, 1], [0, 0]),
        ("Can you list my pets?", [1, 0], [0, 1]),
        ("Where is the car?", [0, 0], [0, 1]),
    ],
)
def test_i_am_the_user_and_you_are_the_assistant(text, speaker, assistant):
    state = state_of(memory(0, "by the gate", role="user"), memory(1, "fine", role="assistant"))

    assert column(state, "speaker", text).tolist() == speaker
    assert column(state, "assistant", text).tolist() == assistant


def test_names_of_speakers_are_no_keywords_but_roles_may_be():
    named = state_of(memory(0, "Ada: hello"), memory(1, "Bob: Ada is here"))
    roles = state_of(
        memory(0, "the user interface", role="user", session="a"),
        memory(1, "fine", role="assistant", session="b"),
    )

    assert not column(named, "keyword", "Ada?").any()
    assert column(roles, "keyword", "Which user interface?")[0] > 0


def test_small_talk_is_a_short_turn_and_never_a_note():
    turns = talk(["Yes.", "one two three four five six seven eight nine ten eleven"])
    note = state_of(memory(0, "Yes.", session=None))

    assert column(turns, "small_talk", "x") == pytest.approx([1 - turns.length[0] / 10, 0.0])
    assert column(note, "small_talk", "x").tolist() == [0.0]


def test_only_short_questions_count_as_such():
    state = talk(["How are you?", "I am fine.", "Shall " + "we paint the garden fence " * 5 + "?"])

    assert (column(state, "short_question", "x") > 0).tolist() == [True, False, False]


def test_a_question_when_wants_a_word_of_time():
    state = talk(["We left yesterday.", "We have three dogs.", "Fine."])

    assert column(state, "when", "When did they leave?").tolist() == [1, 0, 0]
    assert column(state, "when", "I wonder when they left.").tolist() == [0, 0, 0]


def test_of_two_facts_that_contradict_the_newer_is_current():
    home = random_unit(31)
    state = state_of(
        memory(0, "My home is in Rome.", vector=home, at=1e9, session="a"),
        memory(1, "My home is in Oslo.", vector=home, at=2e9, session="b"),
        *(memory(n, f"Other {n}.", at=1.5e9, session=f"s{n}") for n in range(2, 30)),
    )

    def first(text):
        return retrieve(state, Query(text=text, vector=home)).hits[0].memory_id

    assert first("Where is my home now?") == "m1"
    assert first("Where is my home?") == "m1"
    assert first("Where was my home before?") == "m0"  # equal but for the birth


def test_current_is_bounded_to_rivals_of_the_best():
    home = random_unit(31)
    state = state_of(
        memory(0, "My home is in Rome.", vector=home, at=1e9, session="a"),
        memory(1, "Unlike.", vector=-home, at=2e9, session="b"),
    )

    assert column(state, "current", "Where is my home now?", home).tolist() == [1.0, 0.0]


def test_confidence_grows_with_the_match():
    state = talk([f"Ada: note {n} on bread and cake number {n}" for n in range(40)])

    sure = retrieve(state, Query(text="Ada note bread cake?", vector=random_unit(3)))
    unsure = retrieve(state, Query(text="zebra quartz?", vector=random_unit(999)))

    assert 0.0 <= unsure.confidence < sure.confidence <= 1.0
    assert not sure.abstained


def test_somebody_elses_memory_that_fits_better_makes_unsure():
    facts = ["Ada: I adopted a small grey kitten", "Bob: I repaired the old wooden boat"]
    names = ("Ada", "Bob")
    filler = [f"{name}: we talked about number{n} things" for n in range(20) for name in names]
    state = talk(facts + filler)

    def sure(text):
        return retrieve(state, Query(text=text)).confidence

    assert sure("Who is Ada's small grey kitten?") > sure("Who is Bob's small grey kitten?")
