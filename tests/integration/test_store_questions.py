"""Questions kept for recalls: written together, found at once."""

import asyncio

import pytest
import redis as plain_redis

from streams.errors import StoreUnavailableError
from streams.local import LocalRedis
from streams.settings import Settings
from streams.store import MEMORY, RecordStore, Write, connect, field

USERS = ("ada", "eve")


async def remember(store: RecordStore) -> None:
    await store.put([Write(user, field(MEMORY, "m"), None, 1, b"x") for user in USERS])


@pytest.fixture
async def known(store: RecordStore) -> RecordStore:
    """A store that knows the users: questions of others are not kept."""
    await remember(store)
    return store


def expiries(server: LocalRedis) -> int:
    with plain_redis.Redis.from_url(server.url) as client:
        calls: int = client.info("commandstats").get("cmdstat_expire", {"calls": 0})["calls"]
        return calls


async def test_questions_that_come_together_are_written_together(own_redis):
    store = await connect(Settings(redis=own_redis.url), "hash:8/8")
    await remember(store)

    await asyncio.gather(
        *(store.questions.keep(user, f"r{n}", f"{user} {n}") for user in USERS for n in range(50))
    )

    assert expiries(own_redis) == len(USERS)
    assert await store.questions.find("eve", "r49") == "eve 49"
    assert await store.questions.find("eve", "r50") is None
    await store.close()


async def test_a_question_that_still_waits_for_others_is_found_at_once(known):
    keeping = asyncio.create_task(known.questions.keep("ada", "r", "where?"))
    await asyncio.sleep(0)

    async with asyncio.timeout(0.09):  # seconds, less than the wait for others
        assert await known.questions.find("ada", "r") == "where?"
    await keeping


async def test_a_question_is_written_also_when_its_caller_is_cancelled(known):
    keeping = asyncio.create_task(known.questions.keep("ada", "r", "where?"))
    await asyncio.sleep(0)

    keeping.cancel()

    assert await known.questions.find("ada", "r") == "where?"


async def test_while_redis_is_away_every_caller_hears_of_it(own_redis):
    store = await connect(Settings(redis=own_redis.url, redis_timeout=0.5), "hash:8/8")
    own_redis.kill()

    failed = await asyncio.gather(
        *(store.questions.keep("ada", f"r{n}", "?") for n in range(3)), return_exceptions=True
    )

    assert [type(error) for error in failed] == [StoreUnavailableError] * 3
    await store.close()
