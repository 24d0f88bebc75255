"""F08 while an adapter is being fitted: the worker leaves in time, and its successor decides."""

import asyncio
import sys
import time
from pathlib import Path

import msgspec
import pytest
from integration.bilingual import memories, recalls
from scenarios.stage import SPACE, Stage, until

from streams.client import Client
from streams.store import connect
from streams.supervision import Verdict

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

RETRAINER = Path(__file__).parents[1] / "integration" / "retrainer.py"
LEAVES_IN = 25.0  # seconds; k8s kills after 30


async def decisions(settings, user):
    store = await connect(settings, SPACE)
    try:
        found = await store.adapters.decisions(user)
        return [msgspec.json.decode(raw, type=Verdict) for raw in found]
    finally:
        await store.close()


def test_f08_sigterm_during_a_retrain_leaves_in_time_and_the_successor_decides_once(
    settings, workers, tmp_path, user, showed
):
    hold, held = tmp_path / "hold", tmp_path / "held"
    hold.write_text("before the fit")
    workers()
    fitting, successor = (workers(start=False, role="retrain") for _ in range(2))
    for worker, arguments in ((fitting, [str(hold)]), (successor, [])):
        worker.command = [sys.executable, str(RETRAINER), *arguments]
    fitting.launch()
    with Client(settings) as client:
        client.ask(user, "?", after=client.send_all(memories(user))[-1], deadline_ms=20_000)
        client.send_all(recalls(user))
    until(held.exists, timeout=60)

    began = time.monotonic()
    code = fitting.stop()
    seconds = time.monotonic() - began
    undecided = asyncio.run(decisions(settings, user))
    successor.start()
    Stage(settings, role="retrain").settle()

    assert code == 0, fitting.log
    assert seconds < LEAVES_IN
    assert undecided == []
    [verdict] = asyncio.run(decisions(settings, user))
    assert (verdict.shipped, verdict.version) == (True, 1)
    showed(left_after_s=seconds, decisions_before=0, decisions_after=1)
