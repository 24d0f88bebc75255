"""How the benchmarks measure and say what they found."""

import pytest

from benchmarks.data import memories, subjects, talk, vectors
from benchmarks.report import Result, Target
from benchmarks.timing import Latency, interleaved


def test_a_bound_itself_is_within_a_target():
    assert Target(claim="ratio", value=1.5, bound=1.5).met
    assert Target(claim="ratio", value=0.6, bound=0.6, at_most=False).met
    assert not Target(claim="ratio", value=1.51, bound=1.5).met
    assert not Target(claim="ratio", value=0.59, bound=0.6, at_most=False).met


def test_a_missed_target_says_what_was_wanted():
    missed = Target(claim="p50 against the echo's", value=2.0, bound=1.5)

    assert str(missed) == "MISSED: p50 against the echo's: 2, want ≤ 1.5"


def test_a_result_is_a_markdown_table():
    result = Result(
        name="r", title="Title", note="Note.", columns=("what", "ms"), rows=[["it", 1234.5]]
    )

    assert result.markdown().split("\n") == [
        "### Title", "", "Note.", "", "| what | ms |", "| --- | --- |", "| it | 1,234 |", "",
    ]  # fmt: skip


def test_percentiles_are_in_milliseconds():
    latency = Latency.of([0.001, 0.002, 0.003])

    assert latency.p50 == pytest.approx(2.0)
    assert latency.p99 == pytest.approx(2.98)  # linear between 2 and 3 ms, at 0.99 × 2


def test_calls_take_turns_and_no_number_comes_twice():
    seen: list[tuple[str, int]] = []
    calls = {name: lambda n, name=name: seen.append((name, n)) for name in "ab"}

    latencies = interleaved(calls, count=2, rounds=1)

    assert seen == [(name, n) for turn in ((0, 1), (2, 3)) for name in "ab" for n in turn]
    assert set(latencies) == {"a", "b"}


def test_without_a_conversation_the_text_is_generated(tmp_path):
    made = talk(tmp_path / "none.jsonl")

    assert "generated" in made.source
    assert made.turn(0) == made.turn(len(made.turns))
    assert made.question(1).endswith("?")


def test_a_conversation_is_read_from_its_file(tmp_path):
    file = tmp_path / "talk.jsonl"
    file.write_text(
        '{"kind": "memory", "user_id": "u", "id": "1", "text": "Ada: hello", "session": 1}\n'
        '{"kind": "query", "user_id": "u", "id": "q", "text": "Who?", "gold": ["1"]}\n'
    )

    made = talk(file)

    assert [turn.text for turn in made.turns] == ["Ada: hello"]
    assert list(made.questions) == ["Who?"]
    assert made.source == "1 real turns and 1 questions"


def test_the_same_seed_makes_the_same_user(tmp_path):
    known = memories(talk(tmp_path / "none"), vectors(20, 8))
    about = subjects(3, 8, known)

    assert (vectors(20, 8) == vectors(20, 8)).all()
    assert len({record.sequence for record in [*known, *about]}) == 23
    assert {m for subject in about for m in subject.memory_ids} <= {m.memory_id for m in known}
