"""Snapshots of graphs: whole or not at all, and gone with their user."""

import pytest
import redis as plain_redis

from streams.store import MEMORY, Graph, Write
from streams.store.graphs import PIECE


@pytest.fixture
async def graphs(store):
    await store.put([Write("ada", b"mm", 1, 1, b"x")])
    return store.graphs


async def test_a_graph_of_many_pieces_comes_back_whole(graphs):
    graph = Graph(7, bytes(range(256)) * (PIECE // 100))

    await graphs.save("ada", graph)

    assert len(graph.blob) > 2 * PIECE
    assert await graphs.load("ada") == graph
    assert await graphs.load("eve") is None


async def test_the_newest_graph_replaces_the_others(graphs, redis_url, store_settings):
    for sequence in range(1, 5):
        await graphs.save("ada", Graph(sequence, b"%d" % sequence))

    assert await graphs.load("ada") == Graph(4, b"4")
    with plain_redis.Redis.from_url(redis_url) as client:
        assert len(client.keys(f"{store_settings.namespace}*:graph*")) == 2  # manifest and one slot


async def test_f28_the_previous_graph_serves_until_the_next_is_whole(
    graphs, redis_url, store_settings, monkeypatch
):
    await graphs.save("ada", Graph(1, b"previous"))

    def broken(*_: object) -> bytes:
        raise ZeroDivisionError

    with monkeypatch.context() as patch:
        patch.setattr("streams.store.graphs.msgspec.msgpack.encode", broken)  # after the pieces
        with pytest.raises(ZeroDivisionError):
            await graphs.save("ada", Graph(2, b"half"))

    assert await graphs.load("ada") == Graph(1, b"previous")


async def test_a_quarantined_graph_is_not_loaded_again(graphs):
    await graphs.save("ada", Graph(1, b"damaged"))

    await graphs.quarantine("ada")

    assert await graphs.load("ada") is None
    await graphs.save("ada", Graph(2, b"sound"))
    assert await graphs.load("ada") == Graph(2, b"sound")


async def test_an_erased_user_keeps_no_graph_and_gets_none_that_comes_late(
    graphs, store, redis_url, store_settings
):
    await graphs.save("ada", Graph(1, b"links"))

    await store.erase("ada", {MEMORY: 10})
    await graphs.save("ada", Graph(2, b"links"))

    assert await graphs.load("ada") is None
    with plain_redis.Redis.from_url(redis_url) as client:
        assert client.keys(f"{store_settings.namespace}*:graph*") == []
