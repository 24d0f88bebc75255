"""The demo's life, as it is shipped."""

from collections import Counter
from importlib.resources import files

from seedmem.evaluate.datasets import MemoryItem, QueryItem, parse_lines

ITEMS = list(parse_lines((files("streams.cli") / "life.jsonl").read_bytes().splitlines()))
MEMORIES = [item for item in ITEMS if isinstance(item, MemoryItem)]
QUESTIONS = [item for item in ITEMS if isinstance(item, QueryItem)]


def test_it_has_150_memories_and_40_questions_of_one_user() -> None:
    assert len(MEMORIES) >= 150
    assert len(QUESTIONS) == 40
    assert {item.user_id for item in ITEMS} == {"demo"}


def test_ids_are_unique_and_every_gold_memory_exists() -> None:
    ids = Counter(item.id for item in ITEMS)

    assert set(ids.values()) == {1}
    assert all(question.gold for question in QUESTIONS)
    assert {gold for question in QUESTIONS for gold in question.gold} <= ids.keys()


def test_time_runs_forward() -> None:
    times = [memory.created_at or 0.0 for memory in MEMORIES]

    assert times == sorted(times)
    assert times[-1] - times[0] > 700 * 86_400  # about two years
