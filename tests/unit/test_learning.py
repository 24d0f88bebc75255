"""One retraining: what it learns from, and what it refuses to learn from."""

import functools
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np
import psutil
import pytest

from seedmem.adapt import Adapter, to_bytes
from seedmem.encode import load_encoder
from seedmem.errors import EncoderError, EncoderUnavailableError
from seedmem.learn.config import LABEL_FREE, FitConfig
from seedmem.learn.gate import GateConfig
from seedmem.learn.pairs import Outcome, Pair
from seedmem.memory import Memory
from seedmem.user import UserState
from seedmem.vectors import Matrix
from streams import learning
from streams.learning import Learned, Study, learn
from streams.settings import Settings

ENCODER = load_encoder("hash:64")
SETTINGS = Settings(encoder="hash:64", retrain_pairs=20)
SAID = ["harbour", "violin", "orchard", "kettle", "lantern", "meadow", "saddle", "pebble", "bow"]
ASKED = ["port", "fiddle", "trees", "pot", "lamp", "field", "leather", "stone", "arch"]
TWO = list(combinations(range(len(SAID)), 2))
MEMORIES = [f"{SAID[one]} {SAID[other]}" for one, other in TWO]
QUESTIONS = [f"{ASKED[one]} {SAID[other]}" for one, other in TWO]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fit one model for a moment."""
    short = functools.partial(FitConfig, members=1, epochs=40)
    monkeypatch.setattr(learning, "FitConfig", short)


def remembering(chosen: Sequence[int]) -> UserState:
    """Return a user with the chosen memories."""
    state = UserState(ENCODER.space)
    vectors = ENCODER.encode([MEMORIES[n] for n in chosen])
    state.load(
        (Memory(memory_id=f"m{n}", text=MEMORIES[n], vector=vector, sequence=at, born=at), None)
        for at, (n, vector) in enumerate(zip(chosen, vectors, strict=True), start=1)
    )
    return state


def asking(chosen: Sequence[int]) -> tuple[Pair, ...]:
    """Return a pair for each of the chosen memories."""
    vectors = ENCODER.encode([QUESTIONS[n] for n in chosen])
    return tuple(
        Pair(memory_id=f"m{n}", vector=vector, text=QUESTIONS[n], at=at)
        for at, (n, vector) in enumerate(zip(chosen, vectors, strict=True), start=1)
    )


@pytest.fixture(scope="module")
def state() -> UserState:
    return remembering(range(len(MEMORIES)))


@pytest.fixture(scope="module")
def pairs() -> tuple[Pair, ...]:
    return asking(range(len(QUESTIONS)))


def learned(
    state: UserState,
    pairs: Sequence[Pair],
    *,
    current: Adapter | None = None,
    seen: int = 0,
    version: int = 1,
) -> Learned:
    current = current or Adapter.identity(ENCODER.space)
    study = Study(state=state, pairs=tuple(pairs), current=current, seen=seen, version=version)
    return learn(study, ENCODER.encode, SETTINGS)


def test_pairs_that_share_a_map_ship_an_adapter(state, pairs):
    found = learned(state, pairs, version=7)

    assert (found.ships, found.lesson, found.questions, found.seen) == (True, "pairs", 36, 36)
    assert found.candidate is not None
    assert found.candidate.version == 7


def test_the_next_adapter_is_judged_on_new_questions_only(state, pairs):
    first = learned(state, pairs[:22])

    second = learned(state, pairs, current=first.candidate, seen=first.seen, version=2)

    assert first.seen == 22
    assert second.gate is not None
    assert second.gate.overall.current.questions == 36 - 22


def test_a_user_without_pairs_is_taught_by_its_own_memories(state):
    found = learned(state, ())

    assert (found.lesson, found.seen) == ("pseudo-queries", 0)
    assert found.gate is not None


def test_with_too_few_pairs_the_memories_teach_and_must_beat_what_serves(state, pairs):
    first = learned(state, ())
    assert first.candidate is not None

    found = learned(state, pairs[:19], current=first.candidate, version=2)

    assert (found.ships, found.lesson, found.seen) == (False, "pseudo-queries", 0)
    assert found.gate is not None
    assert found.gate.overall.current == found.gate.overall.candidate


def test_pairs_judge_what_the_memories_teach_first(state, pairs, monkeypatch):
    monkeypatch.setattr(learning, "TWICE", GateConfig(significance=1.0))

    found = learned(state, pairs)

    assert (found.ships, found.lesson, found.questions) == (True, "pseudo-queries", 36)
    assert found.seen == 0  # the pairs have judged it, and may judge the next one
    assert found.candidate is not None
    assert found.candidate.lexicon is not None


def test_an_adapter_of_pairs_brings_a_lexicon_of_the_memories(state, pairs):
    found = learned(state, pairs)

    assert found.lesson == "pairs"
    assert found.candidate is not None
    assert found.candidate.lexicon is not None


def test_where_no_text_can_be_encoded_pairs_alone_teach(state, pairs):
    def refuses(texts: Sequence[str]) -> Matrix:
        raise EncoderError("this encoder takes no text")

    identity = Adapter.identity(ENCODER.space)
    study = Study(state=state, pairs=tuple(pairs), current=identity, seen=0, version=1)

    found = learn(study, refuses, SETTINGS)

    assert (found.ships, found.lesson) == (True, "pairs")
    assert found.candidate is not None
    assert found.candidate.lexicon is None


POISON = {
    "random": lambda p, n: replace(p, memory_id=f"m{np.random.default_rng(n).integers(36)}"),
    "identical": lambda p, n: replace(p, memory_id="m3", vector=ENCODER.encode(["same"])[0]),
    "one answer to all": lambda p, n: replace(p, memory_id="m3"),
    "not a number": lambda p, n: replace(p, vector=np.full_like(p.vector, np.nan)),
    "flipped": lambda p, n: replace(p, vector=-p.vector),
    "rejected": lambda p, n: replace(p, outcome=Outcome.REJECTED),
    "of deleted memories": lambda p, n: replace(p, memory_id=f"gone-{n}"),
}


@pytest.mark.parametrize("spoil", POISON.values(), ids=POISON.keys())
def test_poisoned_pairs_never_ship(state, pairs, spoil):
    found = learned(state, [spoil(pair, n) for n, pair in enumerate(pairs)])

    assert not (found.ships and found.lesson == "pairs"), found.reason
    assert found.reason


def test_a_user_without_memories_is_a_reason_and_no_crash(pairs):
    found = learned(UserState(ENCODER.space), pairs)

    assert not found.ships
    assert found.reason


def test_an_encoder_that_is_away_is_no_decision(state):
    def away(texts: Sequence[str]) -> Matrix:
        raise EncoderUnavailableError("away", retry_after=1.0)

    study = Study(state=state, pairs=(), current=Adapter.identity(ENCODER.space), seen=0, version=1)

    with pytest.raises(EncoderUnavailableError):
        learn(study, away, SETTINGS)


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_f49_memory_stays_level_over_2_000_retrainings_of_500_users(monkeypatch):
    """Less than a tenth more over the second thousand, and no user's adapter grows."""
    monkeypatch.setattr(learning, "FitConfig", functools.partial(FitConfig, members=1, epochs=5))
    monkeypatch.setattr(learning, "LABEL_FREE", replace(LABEL_FREE, epochs=5))
    people = [taught(seed) for seed in range(500)]
    process, memory, sizes = psutil.Process(), [], defaultdict(set)

    for retraining in range(2_000):
        person = retraining % len(people)
        found = learned(*people[person])
        assert found.candidate is not None, found.reason
        sizes[person].add(len(to_bytes(found.candidate, user_id="ada")))
        memory.append(process.memory_info().rss)

    assert memory[-1] < 1.1 * memory[1_000]
    assert {len(of_one) for of_one in sizes.values()} == {1}


def taught(seed: int) -> tuple[UserState, tuple[Pair, ...]]:
    """Return a user of two thirds of the memories, and a pair for each of them."""
    chosen = np.random.default_rng(seed).permutation(len(MEMORIES))[:24].tolist()
    return remembering(chosen), asking(chosen)
