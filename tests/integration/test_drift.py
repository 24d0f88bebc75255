"""What another version of a dependency changes: a server without HELLO, a package off its lock.

Codecs are in ``test_codecs``, a rebalance of two workers in ``tests/faults`` (F22).
"""

import re
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from redis import Redis

from streams.client import Client
from streams.events import Status
from streams.local import LocalRedis

LOCKS = sorted((Path(__file__).parents[2] / "requirements").glob("*.txt"))


@pytest.fixture
def redis_without_hello(tmp_path):
    with LocalRedis(tmp_path / "own-redis") as server:
        with Redis.from_url(server.url, protocol=2) as client:
            client.acl_setuser("default", enabled=True, commands=["-hello"])
        yield server


def test_f22_a_redis_that_knows_no_hello_is_used(settings, workers, redis_without_hello, user):
    workers(redis=redis_without_hello.url)
    with Client(settings) as client:
        token = client.remember(user, "the tap leaks").token
        answer = client.ask(user, "what leaks?", after=token, deadline_ms=20_000)

    assert answer.status is Status.OK
    assert [hit.text for hit in answer.hits] == ["the tap leaks"]


def locked(lock):
    """Return each requirement of a lock file with its hashes."""
    lines = re.sub(r" *\\\n *", " ", lock.read_text()).splitlines()
    return [line for line in lines if line and not line.startswith("#")]


@pytest.mark.parametrize("lock", LOCKS, ids=lambda lock: lock.name)
def test_f22_every_package_of_a_lock_has_one_version_and_hashes(lock):
    lines = locked(lock)

    assert lines
    for line in lines:
        requirement, *hashes = line.split(" --hash=")
        assert re.fullmatch(r"[\w.\-\[\],]+==[\w.+!]+( ;.*)?", requirement.strip()), requirement
        assert hashes, requirement


def test_f22_what_these_tests_run_on_is_what_the_lock_says():
    [lock] = [lock for lock in LOCKS if lock.name == "test.txt"]
    other = []
    for line in locked(lock):
        wanted = Requirement(line.partition(" --hash=")[0])
        if wanted.marker is None or wanted.marker.evaluate():
            found = installed(wanted.name)
            if not wanted.specifier.contains(found or "0", prereleases=True):
                other.append((str(wanted), found))

    assert other == [], "run scripts/setup test"


def installed(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None
