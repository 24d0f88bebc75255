"""memory-recalled: pairs are kept once, by question text or by request id."""

import asyncio
from collections.abc import AsyncIterator, Iterator

import pytest
from reading import everything_in, until

from streams.client import Client
from streams.records import Pair, decode_pair
from streams.settings import Settings
from streams.store import SEQUENCE, RecordStore, connect, parse
from streams.topics import Topics


@pytest.fixture(scope="module")
def client(service: Settings) -> Iterator[Client]:
    with Client(service) as client:
        yield client


@pytest.fixture
async def records(service: Settings) -> AsyncIterator[RecordStore]:
    store = await connect(service, "hash/64")
    yield store
    await store.close()


async def pairs_of(store: RecordStore, user: str) -> list[Pair]:
    pages = [page async for page in store.pairs(user)]
    values = {name: value for page in pages for name, value in page.items() if name != SEQUENCE}
    return [decode_pair(parse(value).payload) for value in values.values()]


async def settled(client: Client, store: RecordStore, user: str) -> list[Pair]:
    """The pairs once a marker that was sent after all of them is there."""
    client.recalled(user, "marker", query="marker?")
    async with asyncio.timeout(30):
        while not any(p.memory_id == "marker" for p in await pairs_of(store, user)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return [pair for pair in await pairs_of(store, user) if pair.memory_id != "marker"]


async def test_a_recall_sent_again_is_one_pair(client, records, user):
    for _ in range(3):
        client.recalled(user, "m1", query="where is it?", recalled_at=5.0)

    assert await settled(client, records, user) == [
        Pair(query="where is it?", memory_id="m1", outcome="used", recalled_at=5.0)
    ]


async def test_the_latest_outcome_of_a_pair_counts(client, records, user):
    client.recalled(user, "m1", query="where is it?")
    client.recalled(user, "m1", query="where is it?", outcome="rejected")

    [pair] = await settled(client, records, user)

    assert pair.outcome == "rejected"


async def test_a_recall_may_name_its_request_alone(client, records, user):
    token = client.remember(user, "the key is under the mat", memory_id="key").token
    answer = client.ask(user, "where is the key?", after=token)

    client.recalled(user, "key", request_id=answer.request_id)

    [pair] = await settled(client, records, user)
    assert (pair.query, pair.memory_id) == ("where is the key?", "key")


def test_a_recall_of_an_unknown_request_is_buried(service, client, user):
    place = client.recalled(user, "m1", request_id=f"never-asked-{user}")

    def letters() -> list[str]:
        letters = everything_in(service, Topics(service.namespace).dead_letter)
        places = ((x["topic"], x["partition"], x["offset"], x["reason"]) for x in letters)
        return [r for *at, r in places if at == [place.topic, place.partition, place.offset]]

    assert until(letters) == ["unknown-request"]
