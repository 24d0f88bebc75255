"""F13: questions are answered while the same process builds a graph and another fits an adapter."""

import asyncio
import time

import numpy as np
import pytest
from integration.bilingual import memories, recalls
from scenarios.facts import assigned, samples
from scenarios.filling import filled
from scenarios.stage import Stage, until
from scenarios.watch import Watch

from streams import standings
from streams.client import Client
from streams.events import AdapterRetrain, Status
from streams.store import connect

pytestmark = [pytest.mark.slow, pytest.mark.alone, pytest.mark.timeout(300)]

GIANT = 50_000  # memories; above SEEDMEM_EXACT_LIMIT, so that a graph is built
STALL = 0.05  # seconds that the event loop may be late, 99 times of 100
SLOWER = 4.0  # times the quiet p99; on two CPUs the fit, the build, brokers and askers share them


def test_f13_a_50000_memory_graph_and_a_fit_hold_up_neither_the_loop_nor_the_questions(
    settings, workers, showed
):
    stage, askers = Stage(settings), [f"asker-{number}" for number in range(8)]
    asyncio.run(filled(settings, ["giant"], each=GIANT))
    asyncio.run(filled(settings, askers, each=50))
    stage.play([*memories("learner"), *recalls("learner")])
    serving = workers()
    stage.settle()
    with Watch(settings, askers, every=0.2) as quiet:
        until(lambda: len(quiet.took) > 300, timeout=60)
    before, owned = loop_lag(serving), assigned(serving)

    workers(role="retrain")
    began = time.monotonic()
    with Watch(settings, askers, every=0.2) as busy, Client(settings) as client:
        client.send(AdapterRetrain(user_id="learner", request_id="first"))
        client.ask("giant", "note 7", deadline_ms=60_000)
        until(lambda: value(serving, "seedmem_graph_builds_total") > 0)
        until(lambda: asyncio.run(decisions(settings)) > 0)
        until(lambda: len(busy.took) > 100)
        seconds = time.monotonic() - began

    late = percentile(loop_lag(serving), before, 0.99)
    assert set(busy.statuses) == {Status.OK}, busy.statuses
    assert late <= STALL
    assert busy.percentile(0.99) < SLOWER * max(quiet.percentile(0.99), STALL)
    assert assigned(serving) == owned == {"0", "1", "2", "3"}
    assert "rebalanc" not in serving.log.partition("started")[2].lower()
    showed(
        memories=GIANT, busy_s=seconds, loop_late_p99_at_most_s=late,
        quiet_p99_s=quiet.percentile(0.99), busy_p99_s=busy.percentile(0.99),
        answers=len(busy.took),
    )  # fmt: skip


def value(worker, name):
    return sum(value for sample, _, value in samples(worker) if sample == name)


def loop_lag(worker):
    """Return the cumulated counts of how late the event loop was, by upper bound in seconds."""
    return {
        float(labels["le"]): count
        for name, labels, count in samples(worker)
        if name == "seedmem_event_loop_lag_seconds_bucket"
    }


def percentile(after, before, share):
    """Return the upper bound of the bucket that ``share`` of what came since lies in."""
    bounds = sorted(after)
    counts = np.array([after[bound] - before[bound] for bound in bounds])
    return bounds[int(np.searchsorted(counts, share * counts[-1]))]


async def decisions(settings):
    store = await connect(settings, "hash/64")
    try:
        return sum([len(found.decisions) for found in await standings.of(store, "learner")])
    finally:
        await store.close()
