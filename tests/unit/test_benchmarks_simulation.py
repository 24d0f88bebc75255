"""A simulation teaches users by half of their questions, and asks the other half."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.bench import QUICK, Bench
from benchmarks.data import talk
from benchmarks.people import people
from benchmarks.program import Program
from benchmarks.simulation import measure
from streams.settings import Settings

THINGS = ("kite", "piano", "river", "garden", "letter", "market", "winter", "bread", "doctor")
LENIENT = Path(__file__).with_name("lenient_retrainer.py")
VERBS = ("lost", "found", "painted", "sold", "borrowed")


@pytest.fixture
def conversation(tmp_path: Path) -> Path:
    """One user's memories, latest first, and a question for each; beside it the subjects."""
    told = [(f"m{at}", verb, thing) for at, (verb, thing) in enumerate(_pairs())]
    lines = [
        {"kind": "memory", "id": id_, "text": f"Ada: I {verb} the {thing} at home",
         "speaker": "Ada", "timestamp": f"2024-01-{28 - at // 2:02}", "session": str(at // 2)}
        for at, (id_, verb, thing) in enumerate(told)
    ]  # fmt: skip
    lines += [
        {"kind": "query", "id": f"q-{id_}", "text": f"Who {verb} that {thing}?", "gold": [id_]}
        for id_, verb, thing in told
    ]
    both = ["m0", "m1"]
    lines += [
        {"kind": "query", "id": "q-both", "text": "What was it, twice?", "gold": both},
        {"kind": "query", "id": "q-gone", "text": "What is gone?", "gold": ["m-gone"]},
        {"kind": "query", "id": "q-none", "text": "Who never?", "gold": ["m0"],
         "category": "adversarial"},
    ]  # fmt: skip
    subjects = [
        {"kind": "subject", "id": thing, "text": thing,
         "memories": [id_ for id_, _, about in told if about == thing]}
        for thing in THINGS
    ]  # fmt: skip
    _write(tmp_path / "said_subjects.jsonl", subjects)
    return _write(tmp_path / "said.jsonl", lines)


class LenientBench(Bench):
    """Its retrain workers' gate lets every candidate serve."""

    def seedmem(self, settings: Settings) -> Program:
        if settings.role != "retrain":
            return super().seedmem(settings)
        return Program([sys.executable, str(LENIENT)], settings, self._fresh())


@pytest.fixture
def bench(request: pytest.FixtureRequest, conversation: Path) -> Iterator[Bench]:
    kafka = request.getfixturevalue("kafka").bootstrap
    redis = request.getfixturevalue("redis_server").url
    with LenientBench(QUICK, talk(conversation), kafka=kafka, redis=redis) as made:
        yield made


def test_no_memory_answers_what_is_taught_and_what_is_asked(conversation):
    [person] = people(conversation, 10)

    asked = {id_ for item in person.held_out for id_ in item.gold}
    assert asked.isdisjoint(lesson.memory_id for lesson in person.lessons)
    questions = [*(item.text for item in person.held_out), *(_.question for _ in person.lessons)]
    assert len(questions) == len(set(questions)) >= len(_pairs())
    assert not {"What is gone?", "Who never?"} & set(questions)
    assert len(person.subjects) == len(THINGS)


def test_lessons_come_in_the_order_of_their_memories(conversation):
    [person] = people(conversation, 10)

    told = {memory.id: memory.created_at for memory in person.memories}
    times = [told[lesson.memory_id] for lesson in person.lessons]
    assert len(set(times)) > 1
    assert times == sorted(times)


def test_without_conversations_the_simulation_is_skipped_with_a_line(tmp_path):
    told = []
    with Bench(QUICK, talk(tmp_path / "none"), progress=told.append) as bench:
        assert measure(bench) == []

    assert told == ["simulation: skipped, it needs conversations with questions (--data FILE)"]


@pytest.mark.slow
@pytest.mark.timeout(400)  # three workers, two of which import torch
def test_what_is_served_with_an_adapter_is_what_ranks_in_process(bench):
    rounds, users, decisions = measure(bench, encoder="hash:64")

    assert [row[0] for row in rounds.rows] == ["0"] * 3 + ["1"] * 3 + ["2"] * 3
    assert [row[1] for row in rounds.rows[::3]] == [0, *QUICK.simulated_rounds]
    assert [row[1] for row in decisions.rows] == [*QUICK.simulated_rounds]
    [(user, _, _, shipped, kept_out, *_)] = users.rows
    assert (user, shipped, kept_out) == ("ada", 2, 0)
    _, differing = rounds.targets
    assert differing.met, differing


def _pairs() -> list[tuple[str, str]]:
    return [(verb, thing) for thing in THINGS for verb in VERBS]


def _write(file: Path, lines: list[dict[str, object]]) -> Path:
    file.write_text("".join(json.dumps({"user_id": "ada"} | line) + "\n" for line in lines))
    return file
