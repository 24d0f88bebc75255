"""What the store promises while Redis is well: order, identity, isolation, erasure."""

import pytest
import redis as plain_redis

from streams.errors import ForeignRecordError, StoreLostError, TopicsError
from streams.settings import Settings
from streams.store import (
    EXTRACTED,
    MEMORY,
    NAME,
    PAIR,
    SEQUENCE,
    SUBJECT,
    TOMBSTONE,
    Placed,
    RecordStore,
    Stored,
    Write,
    connect,
    field,
    parse,
)

LOOK_ALIKES = ["u1", "u10", "u1:", "U1", "u1\x00", "u1*", "{u1}", "caf\u00e9", "cafe\u0301", "u1 "]
ARRIVAL_ORDER = [  # of (version, arrival) one after another: is each accepted?
    ([(None, 1), (None, 2)], [True, True]),
    ([(None, 2), (None, 1)], [True, False]),
    ([(3, 1), (3, 2)], [True, False]),
    ([(3, 1), (2, 2)], [True, False]),
    ([(3, 5), (4, 1)], [True, True]),
    ([(3, 1), (None, 2), (3, 3)], [True, True, False]),  # the version stays 3
    ([(3, 2), (None, 1)], [True, False]),
    ([(None, 5), (0, 1)], [True, True]),  # any version is above none
    ([(0, 1), (None, 2), (0, 3)], [True, True, False]),
    ([(9, 9), (10, 10)], [True, True]),  # as numbers
    ([(2**53, 1), (2**53 + 1, 2)], [True, True]),  # beyond a double's precision
]


async def everything(store: RecordStore, user_id: str) -> dict[bytes, Stored]:
    return {
        name: parse(value)
        async for page in store.read(user_id)
        for name, value in page.items()
        if name != SEQUENCE
    }


def memory(
    user_id: str, id: str, payload: bytes, arrival: int, version: int | None = None
) -> Write:
    return Write(user_id, field(MEMORY, id), version, arrival, payload)


@pytest.mark.parametrize(("events", "accepted"), ARRIVAL_ORDER)
async def test_the_newest_version_wins_and_arrival_settles_the_rest(store, events, accepted):
    writes = [memory("ada", "m", b"%d" % i, a, v) for i, (v, a) in enumerate(events)]

    placed = [(await store.put([write]))[0] for write in writes]

    assert [place is not None for place in placed] == accepted
    stored = await everything(store, "ada")
    last = max(i for i, is_accepted in enumerate(accepted) if is_accepted)
    assert stored[field(MEMORY, "m")].payload == b"%d" % last


async def test_a_repeated_call_gets_the_same_places(store):
    writes = [memory("ada", f"m{i}", b"x", i, version=i or None) for i in range(3)]

    first = await store.put(writes)
    again = await store.put(writes)

    assert first == again == [Placed(1, 1), Placed(2, 2), Placed(3, 3)]


async def test_born_outlives_updates_and_a_tombstone_but_not_a_return(store):
    payloads = [b"new", b"changed", TOMBSTONE, TOMBSTONE, b"back", b"changed again"]

    places = [
        (await store.put([memory("ada", "m", payload, arrival)]))[0]
        for arrival, payload in enumerate(payloads)
    ]

    assert places == [(1, 1), (2, 1), (3, 1), (4, 1), (5, 5), (6, 5)]


async def test_a_tombstone_that_comes_first_keeps_the_older_memory_out(store):
    await store.put([memory("ada", "m", TOMBSTONE, arrival=7)])

    late = await store.put([memory("ada", "m", b"late", arrival=3)])

    assert late == [None]
    assert (await everything(store, "ada"))[field(MEMORY, "m")].payload == TOMBSTONE


async def test_f57_users_with_similar_ids_never_mix(store):
    await store.put([memory(user, "m", user.encode(), 1) for user in LOOK_ALIKES])

    found = {user: await everything(store, user) for user in LOOK_ALIKES}

    assert {user: [v.payload for v in seen.values()] for user, seen in found.items()} == {
        user: [user.encode()] for user in LOOK_ALIKES
    }
    assert sorted([user async for user in store.users()]) == sorted(LOOK_ALIKES)


async def test_namespaces_are_taken_literally(store_settings):
    names = ["a*-", "ab-", "a[b]-"]
    stores = [await connect(replace_namespace(store_settings, name), "g") for name in names]
    for name, store in zip(names, stores, strict=True):
        await store.put([memory(f"user of {name}", "m", b"x", 1)])

    seen = [[user async for user in store.users()] for store in stores]

    assert seen == [[f"user of {name}"] for name in names]
    for store in stores:
        await store.close()


def replace_namespace(store_settings: Settings, name: str) -> Settings:
    return Settings(redis=store_settings.redis, namespace=store_settings.namespace + name)


async def test_f53_generations_share_pairs_and_extractions_and_nothing_else(store, store_settings):
    fields = [field(kind, "x") for kind in (MEMORY, SUBJECT, NAME, PAIR, EXTRACTED)]
    await store.put([Write("ada", name, None, 1, b"old") for name in fields])
    other = await connect(store_settings, "minilm/384")

    seen = await other.get_many("ada", fields)

    assert [value is not None for value in seen] == [False, False, False, True, True]
    assert await store.generations("ada") == [store.generation]
    assert [page async for page in other.read("ada")] == []
    assert other.losses == 0
    await other.close()


async def test_a_key_of_another_user_is_never_served_nor_written(store, redis_url, store_settings):
    await store.put([memory("ada", "m", b"x", 1)])
    with plain_redis.Redis.from_url(redis_url) as client:
        (meta,) = client.keys(f"{store_settings.namespace}seedmem:*:meta")
        client.hset(meta, "user", "eve")

    for attempt in (
        everything(store, "ada"),
        store.get_many("ada", [field(MEMORY, "m")]),
        store.put([memory("ada", "m", b"y", 2)]),
        store.erase("ada", {}),
    ):
        with pytest.raises(ForeignRecordError):
            await attempt


async def test_an_erased_user_leaves_nothing_and_a_replay_brings_nothing_back(
    store, redis_url, store_settings
):
    kinds = (MEMORY, SUBJECT, NAME, PAIR, EXTRACTED)
    old = [Write("secret-ada", field(kind, "secret"), 1, 5, b"secret") for kind in kinds]
    await store.put([*old, memory("bob", "m", b"kept", 5)])

    counts = await store.erase("secret-ada", {MEMORY: 9, SUBJECT: 9, PAIR: 9})
    replayed = await store.put(old)

    assert (counts["records"], counts["pairs"], counts["extracted"]) == (3, 1, 1)
    assert replayed == [None] * 5
    assert await everything(store, "secret-ada") == {}
    assert [user async for user in store.users()] == ["bob"]
    with plain_redis.Redis.from_url(redis_url) as client:
        dumps = [client.dump(key) for key in client.keys(f"{store_settings.namespace}*")]
    assert not any(b"secret" in dump for dump in dumps)
    assert await store.put([memory("secret-ada", "m", b"new life", 10)]) == [Placed(1, 1)]


async def test_a_lower_fence_never_replaces_a_higher(store):
    await store.erase("ada", {MEMORY: 100})
    await store.erase("ada", {MEMORY: 9})

    assert await store.put([memory("ada", "m", b"x", 100)]) == [None]
    assert await store.fences("ada") == {MEMORY: 100, EXTRACTED: 100}


async def test_an_erasure_finds_records_whose_meta_is_lost(store, redis_url, store_settings):
    await store.put([memory("ada", "m", b"x", 1)])
    with plain_redis.Redis.from_url(redis_url) as client:
        client.delete(*client.keys(f"{store_settings.namespace}*:meta"))

    await store.erase("ada", {})

    assert await everything(store, "ada") == {}


async def test_f59_a_huge_user_is_read_in_pages_and_no_call_is_slow(store, redis_url):
    writes = [memory("huge", f"m{i}", b"x" * 900, i) for i in range(20_000)]
    for start in range(0, len(writes), 1_000):
        await store.put(writes[start : start + 1_000])
    with plain_redis.Redis.from_url(redis_url) as client:
        client.slowlog_reset()
        client.config_set("slowlog-log-slower-than", 50_000)  # µs

        sizes = [len(page) async for page in store.read("huge")]

        assert client.slowlog_get() == []
    assert sum(sizes) >= 20_001
    assert max(sizes) < 1_100


async def test_another_number_of_partitions_is_refused_with_both_numbers(store, store_settings):
    other = Settings(redis=store_settings.redis, namespace=store_settings.namespace, partitions=7)

    with pytest.raises(TopicsError, match=r"12 partitions.*has 7"):
        await connect(other, "g")


async def test_f44_an_empty_store_is_refused_when_it_was_written_before(store_settings):
    with pytest.raises(StoreLostError, match="flushed or restarted empty"):
        await connect(store_settings, "g", resumes=True)

    first = await connect(store_settings, "g")
    second = await connect(store_settings, "g", resumes=True)

    await first.close()
    await second.close()


async def test_f44_a_user_whose_records_vanished_is_counted(store, redis_url, store_settings):
    await store.put([memory("ada", "m", b"x", 1)])
    with plain_redis.Redis.from_url(redis_url) as client:
        client.delete(*client.keys(f"{store_settings.namespace}*:records"))

    assert await everything(store, "ada") == {}
    assert store.losses == 1
