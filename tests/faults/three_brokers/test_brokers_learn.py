"""The roles that learn, killed at random moments on a cluster of three brokers.

What they leave is compared with an undisturbed run of the same events under another namespace.
"""

import asyncio
import random
import sys
import time
from pathlib import Path

import msgspec
import pytest
from integration.bilingual import memories, recalls
from scenarios.facts import replied_twice
from scenarios.stage import SPACE, Stage, until
from scenarios.story import parts, story, user_names
from scenarios.watch import Watch

from streams import standings, topics
from streams.store import connect

pytestmark = [pytest.mark.slow, pytest.mark.timeout(600)]

RETRAINER = Path(__file__).parents[2] / "integration" / "retrainer.py"
STORY = story(seed=32, users=60, events=1_200)
LEARNERS = [f"learner-{number}" for number in range(6)]
REMEMBERED = [event for name in LEARNERS for event in memories(name)]
RECALLED = [event for name in LEARNERS for event in recalls(name)]
KILLS = 3
PATIENCE = 240.0  # seconds; spaCy and torch take a minute to load on a busy machine


@pytest.fixture
def calm(settings):
    """The same service under another namespace, for the undisturbed run."""
    calm = msgspec.structs.replace(settings, namespace=f"{settings.namespace}calm-")
    topics.create(calm)
    return calm


def started(worker):
    """Start a worker and return it when it is ready."""
    worker.launch()
    worker.process.wait_until(lambda: worker.is_ready, timeout=PATIENCE)
    return worker


def settled(settings, role):
    """Wait until ``role`` has done all, and serve what came of it."""
    for reader in (role, "serve"):
        Stage(settings, role=reader).settle()


def teach(stage):
    """Play memories, and their pairs once they are stored: sooner, pairs ask for nothing."""
    stage.play(REMEMBERED)
    stage.settle()
    stage.play(RECALLED)


def test_an_extract_worker_killed_at_random_moments(settings, calm, workers, showed):
    stage, undisturbed = Stage(settings), Stage(calm)
    others = [workers(**differing) for differing in ({}, {"namespace": calm.namespace})]
    quiet = started(workers(start=False, role="extract", namespace=calm.namespace))
    undisturbed.play(STORY)
    settled(calm, "extract")
    quiet.stop()

    victim = started(workers(start=False, role="extract"))
    chance = random.Random(5)
    with Watch(settings, user_names(60), told=STORY) as watch:
        for part in parts(STORY, KILLS):
            with stage.playing(part, rate=60):
                time.sleep(chance.uniform(0.5, 5.0))
                victim.kill()
                started(victim)
    settled(settings, "extract")

    found, wanted = stage.held(), undisturbed.held()
    assert found.digest == wanted.digest
    assert found.pairs == wanted.pairs
    assert any(memory.subjects for memories in found.digest.values() for memory in memories)
    assert watch.foreign == []
    assert all(worker.process.running for worker in others)
    showed(
        kills=KILLS, events=len(STORY), effects=found.writes, effects_undisturbed=wanted.writes,
        answers=dict(watch.statuses), foreign=0, replied_twice=replied_twice(stage),
        longest_gap_s=watch.longest_gap,
    )  # fmt: skip


def test_a_retrain_worker_killed_at_random_moments(settings, calm, workers, showed):
    stage, undisturbed = Stage(settings), Stage(calm)
    workers(), workers(namespace=calm.namespace)
    quiet, victim = (
        workers(start=False, role="retrain", namespace=name)
        for name in (calm.namespace, settings.namespace)
    )
    for worker in (quiet, victim):
        worker.command = [sys.executable, str(RETRAINER)]
    teach(undisturbed)
    started(quiet)
    until(lambda: len(decided(calm)) == len(LEARNERS), timeout=PATIENCE)
    quiet.stop()

    victim.launch()
    chance, kills = random.Random(6), 0
    with Watch(settings, LEARNERS, told=REMEMBERED) as watch:
        teach(stage)
        while len(decided(settings)) < len(LEARNERS):
            victim.process.wait_until(lambda: victim.is_ready, timeout=PATIENCE)
            time.sleep(chance.uniform(0.2, 1.5))
            if kills < KILLS:
                victim.kill()
                victim.launch()
                kills += 1
        Stage(settings, role="retrain").settle()

    found, wanted = stage.held(), undisturbed.held()
    assert found.digest == wanted.digest
    assert found.pairs == wanted.pairs
    assert watch.foreign == []
    assert decided(settings) == decided(calm)
    assert kills == KILLS
    showed(
        kills=kills, events=len(stage.told), effects=found.writes, decisions=len(LEARNERS),
        answers=dict(watch.statuses), foreign=0, replied_twice=replied_twice(stage),
        longest_gap_s=watch.longest_gap,
    )  # fmt: skip


def decided(settings):
    """Return of each user what serves and each decision's outcome, the latest first."""
    return asyncio.run(_decided(settings))


async def _decided(settings):
    store = await connect(settings, SPACE)
    try:
        return {
            found.user_id: (
                found.current,
                [(v.version, v.shipped, v.reason, v.questions) for v in found.decisions],
            )
            for found in await standings.every(store)
        }
    finally:
        await store.close()
