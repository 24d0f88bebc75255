"""A user's adapters in Redis: decided at once or not at all, few kept, gone with the user."""

import asyncio

from remembering import remember

from streams.settings import Settings
from streams.store import ERASED, PAIR, RecordStore, Settlement, Write, connect, field


def shipped(version: int, *, note: bytes = b"", seen: int = 0) -> Settlement:
    return Settlement(version, b"ship %d" % version, b"adapter %d" % version, seen, note)


async def ship(store: RecordStore, user: str, count: int) -> None:
    for version in range(1, count + 1):
        since = await store.adapters.standing(user)
        assert await store.adapters.settle(user, since, shipped(version, seen=10 * version))


async def test_a_decision_changes_version_bytes_and_history_together(store):
    await remember(store, "ada", [1])
    since = await store.adapters.standing("ada")

    assert await store.adapters.settle("ada", since, shipped(1, note=b"noted", seen=7))

    after = await store.adapters.standing("ada")
    assert (since.current, after.current, after.newest) == (0, 1, 1)
    assert await store.adapters.load("ada", 1) == b"adapter 1"
    assert await store.adapters.seen("ada", 1) == 7
    assert await store.adapters.decisions("ada") == [b"ship 1"]
    [supervision] = await store.adapters.supervision(["ada"])
    assert supervision.decided == b"noted"


async def test_of_two_decisions_on_one_standing_the_second_changes_nothing(store):
    await remember(store, "ada", [1])
    since = await store.adapters.standing("ada")
    rivals = [Settlement(1, b"one", b"first"), Settlement(1, b"two", b"second")]

    done = await asyncio.gather(*(store.adapters.settle("ada", since, one) for one in rivals))

    assert sorted(done) == [False, True]
    assert await store.adapters.decisions("ada") == [[b"one", b"two"][done.index(True)]]


async def test_a_refusal_leaves_the_version_that_serves(store):
    await remember(store, "ada", [1])
    await ship(store, "ada", 1)

    since = await store.adapters.standing("ada")
    assert await store.adapters.settle("ada", since, Settlement(1, b"not better"))

    assert await store.adapters.standing("ada") == since
    assert await store.adapters.load("ada", 1) == b"adapter 1"
    assert await store.adapters.decisions("ada") == [b"not better", b"ship 1"]


async def test_f49_the_last_three_versions_and_hundred_decisions_are_kept(store):
    await remember(store, "ada", [1])

    await ship(store, "ada", 105)

    assert await store.adapters.versions("ada") == [105, 104, 103]
    assert [await store.adapters.seen("ada", v) for v in (102, 103)] == [0, 1_030]
    decisions = await store.adapters.decisions("ada")
    assert (len(decisions), decisions[0], decisions[-1]) == (100, b"ship 105", b"ship 6")


async def test_a_version_number_is_not_used_again_after_a_rollback(store):
    await remember(store, "ada", [1])
    await ship(store, "ada", 2)

    since = await store.adapters.standing("ada")
    assert await store.adapters.settle("ada", since, Settlement(1, b"back"))

    after = await store.adapters.standing("ada")
    assert (after.current, after.newest) == (1, 2)


async def test_an_adapter_in_quarantine_is_no_version_any_more(store):
    await remember(store, "ada", [1])
    await ship(store, "ada", 2)

    await store.adapters.quarantine("ada", 2, b"adapter 2")

    assert await store.adapters.versions("ada") == [1]


async def test_erasure_takes_pairs_adapters_and_decisions(store):
    await remember(store, "ada", [1])
    await store.put([Write("ada", field(PAIR, "p"), None, 1, b"pair")])
    await store.adapters.note_request("ada", 1)
    await ship(store, "ada", 2)

    deleted = await store.erase("ada", {ERASED: 9})

    assert deleted["pairs"] == 1
    assert deleted["adapters"] == 7  # requested, current, newest; of two versions, bytes and seen
    assert deleted["decisions"] == 1
    assert await store.adapters.decisions("ada") == []
    assert await store.adapters.versions("ada") == []


async def test_a_decision_begun_before_an_erasure_is_not_written_after_it(store):
    await remember(store, "ada", [1])
    since = await store.adapters.standing("ada")
    await store.erase("ada", {ERASED: 9})

    assert not await store.adapters.settle("ada", since, shipped(1))
    await remember(store, "ada", [2], arrival=10)  # the user is back
    assert not await store.adapters.settle("ada", since, shipped(1))

    assert await store.adapters.decisions("ada") == []
    now = await store.adapters.standing("ada")
    assert (now.is_known, now.erased) == (True, "9")


async def test_supervision_counts_pairs_and_writes(store):
    await remember(store, "ada", [1, 2])
    await store.put([Write("ada", field(PAIR, f"p{n}"), None, n, b"pair") for n in range(3)])
    await store.adapters.note_request("ada", 3)

    [ada, nobody] = await store.adapters.supervision(["ada", "nobody"])

    assert (ada.pairs, ada.writes, ada.requested, ada.decided) == (3, 2, 3, None)
    assert (nobody.pairs, nobody.writes, nobody.requested, nobody.decided) == (0, 0, 0, None)


async def test_another_vector_space_has_adapters_of_its_own(store, store_settings: Settings):
    await remember(store, "ada", [1])
    await ship(store, "ada", 1)
    other = await connect(store_settings, "hash:16/16")

    assert (await other.adapters.standing("ada")).current == 0
    assert await other.adapters.versions("ada") == []

    await other.close()


async def test_stored_numbers_that_are_none_count_as_zero(store):
    await remember(store, "ada", [1])
    await ship(store, "ada", 1)
    await store._session.run(
        [("HSET", store.adapters._adapters(store._keys("ada")), "current", "x")]
    )

    assert (await store.adapters.standing("ada")).current == 0
    assert await store.adapters.settle(
        "ada", await store.adapters.standing("ada"), Settlement(0, b"none")
    )
