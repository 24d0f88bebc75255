"""From pairs to a served adapter, through a real retrain worker; and what must never ship."""

import asyncio
import json
import random
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
import retrainer
from bilingual import MEMORIES, QUESTIONS, memories, recalls
from reading import everything_in, until

from seedmem.encode import load_encoder
from seedmem.memory import Memory
from streams.client import Client
from streams.events import AdapterRetrain, Status
from streams.records import Pair, encode, encode_pair, field_of
from streams.settings import Settings
from streams.store import PAIR, RecordStore, Settlement, Write, connect, field
from streams.supervision import DAY, Noted, Verdict
from streams.topics import Topics

SPACE = "hash/64"
PATIENCE = 90.0  # seconds; torch alone takes ten to load on a busy machine

pytestmark = pytest.mark.timeout(240)


@pytest.fixture(scope="module")
def client(service: Settings) -> Iterator[Client]:
    with Client(msgspec.structs.replace(service, deadline=20.0)) as client:
        yield client


@pytest.fixture(scope="module")
def retrain_worker(service: Settings, shared_workers: Callable[..., Any]) -> Any:
    """The retrain worker of the shared service."""
    worker = shared_workers(msgspec.structs.replace(service, role="retrain"))
    worker.command = [sys.executable, retrainer.__file__]
    worker.start()
    return worker


@pytest.fixture
async def store(service: Settings) -> AsyncIterator[RecordStore]:
    store = await connect(service, SPACE)
    yield store
    await store.close()


async def verdicts(store: RecordStore, user: str) -> list[Verdict]:
    """Every decision about a user, the latest first."""
    return [msgspec.json.decode(raw, type=Verdict) for raw in await store.adapters.decisions(user)]


async def decided(store: RecordStore, user: str, count: int = 1) -> list[Verdict]:
    async with asyncio.timeout(PATIENCE):
        while len(found := await verdicts(store, user)) < count:  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return found


def version_of(client: Client, user: str) -> int:
    return client.ask(user, QUESTIONS[0]).adapter_version


def promotions(service: Settings, user: str) -> list[int]:
    topic = Topics(service.namespace).adapter_promoted
    return [e["version"] for e in everything_in(service, topic) if e["user_id"] == user]


def tell(client: Client, user: str, **answers: Any) -> None:
    """Stream the user's memories, wait until they are searchable, then stream its pairs."""
    client.ask(user, "ready?", after=client.send_all(memories(user))[-1])
    client.send_all(recalls(user, **answers))


def typed(settings: Settings, *arguments: str) -> Any:
    """Return the JSON that ``seedmem`` prints."""
    result = subprocess.run(
        [sys.executable, "-m", "streams.cli", *arguments, "--json"],
        env=settings.to_env(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    return json.loads(result.stdout)


async def test_pairs_become_an_adapter_that_passed_the_gate_and_replies_name_it(
    service, retrain_worker, client, store, user
):
    before = [client.ask(user, text) for text in QUESTIONS[:1]]
    tell(client, user)

    [verdict] = await decided(store, user)

    assert (verdict.shipped, verdict.before, verdict.version) == (True, 0, 1)
    assert (verdict.cause, verdict.lesson, verdict.memories) == ("pairs", "pairs", 45)
    assert verdict.questions == verdict.pairs >= 40
    assert verdict.gate is not None
    overall = verdict.gate.overall
    assert overall.candidate.mrr - overall.current.mrr == pytest.approx(verdict.gate.gain)
    assert before[0].adapter_version == 0
    until(lambda: version_of(client, user) == 1)
    assert promotions(service, user) == [1]
    firsts = [client.ask(user, text, k=1).hits[0].text for text in QUESTIONS]
    found = sum(first == text for first, text in zip(firsts, MEMORIES, strict=True))
    assert found / 45 > overall.current.recall_at_1


async def test_a_request_that_comes_again_decides_nothing_and_announces_again(
    service, retrain_worker, client, store, user
):
    tell(client, user)
    [verdict] = await decided(store, user)
    until(lambda: promotions(service, user))

    client.send(AdapterRetrain(user_id=user, request_id=verdict.request_id, reason="pairs"))

    until(lambda: len(promotions(service, user)) == 2)
    assert promotions(service, user) == [1, 1]
    assert await verdicts(store, user) == [verdict]


async def test_pairs_that_lie_at_random_never_ship(service, retrain_worker, client, store, user):
    draw = random.Random(3)
    tell(client, user, answer=lambda _: draw.randrange(45))

    [verdict] = await decided(store, user)

    assert (verdict.shipped, verdict.version) == (False, 0)
    assert "no better than chance" in verdict.reason
    assert version_of(client, user) == 0


async def test_pairs_that_all_name_one_memory_are_a_decision_and_no_crash(
    service, retrain_worker, client, store, user
):
    tell(client, user, answer=lambda _: 3)

    [verdict] = await decided(store, user)

    assert (verdict.shipped, verdict.version) == (False, 0)
    assert "too few" in verdict.reason
    assert retrain_worker.process.running


async def test_a_rollback_serves_the_version_before_and_the_command_shows_why(
    service, retrain_worker, client, store, user
):
    tell(client, user)
    until(lambda: version_of(client, user) == 1, timeout=PATIENCE)

    rolled = typed(service, "adapters", "rollback", user)

    assert (rolled["before"], rolled["version"]) == (1, 0)
    until(lambda: version_of(client, user) == 0)
    [shown] = typed(service, "adapters", "show", user)
    assert [d["cause"] for d in shown["decisions"]] == ["rollback", "pairs"]
    assert (shown["current"], shown["versions"]) == (0, [1])
    [listed] = [a for a in typed(service, "adapters", "list") if a["user_id"] == user]
    assert (listed["current"], listed["pairs"]) == (0, 45)


async def test_erasing_a_user_takes_pairs_adapter_and_decisions(
    service, retrain_worker, client, store, user
):
    tell(client, user)
    until(lambda: version_of(client, user) == 1, timeout=PATIENCE)

    client.erase(user, request_id=user)

    topic = Topics(service.namespace).erase_receipt
    [receipt] = until(lambda: [e for e in everything_in(service, topic) if e["request_id"] == user])
    assert {"pairs", "adapters", "decisions"} <= {n for n, c in receipt["deleted"].items() if c}
    assert version_of(client, user) == 0
    assert await verdicts(store, user) == []
    [supervision] = await store.adapters.supervision([user])
    assert supervision == (0, 0, 0, None)


async def test_without_pairs_an_asked_retraining_learns_from_the_memories_alone(
    service, retrain_worker, client, store, user
):
    client.ask(user, "ready?", after=client.send_all(memories(user))[-1])

    request = typed(service, "adapters", "retrain", user)

    [verdict] = await decided(store, user)
    assert (verdict.request_id, verdict.cause) == (request[0]["request_id"], "asked")
    assert verdict.lesson == "pseudo-queries"
    assert verdict.gate is not None


@pytest.fixture
async def own_store(settings: Settings) -> AsyncIterator[RecordStore]:
    store = await connect(settings, SPACE)
    yield store
    await store.close()


async def keep(store: RecordStore, user: str) -> None:
    """Make the user's memories and pairs durable, as the agents do."""
    writes, encoder = [], load_encoder("hash:64")
    for n, vector in enumerate(encoder.encode(MEMORIES)):
        memory = Memory(memory_id=f"m{n}", text=MEMORIES[n], vector=vector, sequence=0, born=0)
        writes.append(Write(user, field_of(memory), None, n, encode(memory)))
        pair = encode_pair(Pair(query=QUESTIONS[n], memory_id=f"m{n}"))
        writes.append(Write(user, field(PAIR, f"p{n}"), None, n, pair))
    await store.put(writes)


async def test_the_schedule_asks_for_users_with_news_since_an_old_decision(
    settings: Settings, own_store: RecordStore
):
    for user, days in (("old", 8), ("recent", 6), ("never", None)):
        await keep(own_store, user)
        if days is not None:
            since = await own_store.adapters.standing(user)
            note = msgspec.msgpack.encode(Noted(time.time() - days * DAY, 44, 45))
            await own_store.adapters.settle(user, since, Settlement(0, b"{}", decided=note))

    requests = typed(settings, "adapters", "retrain", "--due")

    assert [(r["user_id"], r["reason"]) for r in requests] == [
        ("never", "schedule"), ("old", "schedule"),
    ]  # fmt: skip
    sent = everything_in(settings, Topics(settings.namespace).adapter_retrain)
    assert {event["request_id"] for event in sent} == {r["request_id"] for r in requests}


@pytest.mark.slow
@pytest.mark.timeout(600)
async def test_f13_f45_questions_are_answered_nearly_as_fast_while_adapters_are_fitted(
    settings: Settings,
    workers: Callable[..., Any],
    own_store: RecordStore,
    capsys: pytest.CaptureFixture[str],
    user: str,
):
    """The bound is generous: on two CPUs the fit, the brokers and others share them."""
    await keep(own_store, user)
    workers(), workers(role="retrain")
    with Client(msgspec.structs.replace(settings, deadline=20.0)) as client:
        await asyncio.to_thread(seconds_of, client, user, 20)  # loads the user, warms the paths
        quiet = await asyncio.to_thread(seconds_of, client, user, 200)
        client.send(AdapterRetrain(user_id=user, request_id="first"))
        busy: list[float] = []
        while not await verdicts(own_store, user):
            busy += await asyncio.to_thread(seconds_of, client, user, 20)

    (quiet_50, quiet_99), (busy_50, busy_99) = (np.quantile(s, [0.5, 0.99]) for s in (quiet, busy))
    with capsys.disabled():
        print(  # noqa: T201 - a measurement
            f"\nms p50/p99: quiet {1e3 * quiet_50:.1f}/{1e3 * quiet_99:.1f} of {len(quiet)},"
            f" during a fit {1e3 * busy_50:.1f}/{1e3 * busy_99:.1f} of {len(busy)}"
        )
    assert len(busy) > 20
    assert busy_99 < 10 * quiet_99


def seconds_of(client: Client, user: str, count: int) -> list[float]:
    """Return how long the service took for each of ``count`` questions, by its own account."""
    answers = [client.ask(user, QUESTIONS[n % len(QUESTIONS)]) for n in range(count)]
    assert {answer.status for answer in answers} == {Status.OK}
    return [answer.took_ms / 1e3 for answer in answers]


@pytest.mark.slow
async def test_f47_a_worker_killed_in_a_fit_and_after_a_decision_leaves_one_whole_adapter(
    settings: Settings,
    workers: Callable[..., Any],
    own_store: RecordStore,
    tmp_path: Path,
    user: str,
):
    await keep(own_store, user)
    hold, held = tmp_path / "hold", tmp_path / "held"
    worker = workers(start=False, role="retrain")
    worker.command = [sys.executable, retrainer.__file__, str(hold)]
    with Client(settings) as client:
        client.send(AdapterRetrain(user_id=user, request_id=uuid.uuid4().hex))
    states = []
    for where in ("before the fit", "decided"):
        hold.write_text(where)
        worker.launch()
        until(lambda where=where: held.exists() and held.read_text() == where, timeout=PATIENCE)
        worker.kill()
        standing = await own_store.adapters.standing(user)
        states.append((standing.current, len(await verdicts(own_store, user))))

    hold.write_text("nowhere")
    worker.start()

    assert states == [(0, 0), (1, 1)]
    until(lambda: promotions(settings, user) == [1], timeout=PATIENCE)
    [verdict] = await verdicts(own_store, user)
    assert (verdict.shipped, verdict.version) == (True, 1)
    assert await own_store.adapters.versions(user) == [1]
