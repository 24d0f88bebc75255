"""A whole service on this machine, by ``seedmem up`` and ``seedmem demo``."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from commands import Finished, Run, in_process, printed, typed
from stand_in import PATIENCE

from streams.cli.demo import _run
from streams.settings import Settings

UP = 180.0  # seconds until a whole service must be ready on a busy machine
QUICK = {"SEEDMEM_ENCODER": "hash:64", "SEEDMEM_PARTITIONS": "2"}


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator["Up"]:
    """A ``seedmem up`` that the tests share; one that stops it starts it again."""
    service = Up(tmp_path_factory.mktemp("up"))
    service.start()
    yield service
    if service.process.poll() is None:
        assert service.stop(signal.SIGTERM) == 0


class Up:
    """``seedmem up`` in a directory of its own, with a quick encoder."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    def start(self) -> None:
        """Start it and return when it serves."""
        self.process = subprocess.Popen(
            [sys.executable, "-m", "streams.cli", "up", "--json"],
            cwd=self.directory,
            env=os.environ | QUICK,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.addresses = json.loads(self.process.stdout.readline() or "null")
        assert self.addresses, "seedmem up has ended at start"

    def stop(self, number: signal.Signals) -> int:
        """Send a signal and return the exit code."""
        self.process.send_signal(number)
        self.process.communicate(timeout=PATIENCE * 2)
        return self.process.returncode

    def typed(self, *arguments: str) -> Finished:
        """Type a command in the directory: it finds the service by itself."""
        return typed(*arguments, directory=self.directory, variables={})


@pytest.fixture
def run(up: Up, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command in the directory of ``up``."""
    here = in_process(monkeypatch, capsys)
    return lambda *arguments: here(*arguments, directory=up.directory, variables={})


@pytest.mark.timeout(UP)
def test_commands_find_the_service_that_runs_here(up: Up) -> None:
    file = up.directory / "events.jsonl"
    file.write_text('{"user_id": "ada", "memory_id": "m1", "text": "the physio is strict"}\n')
    up.typed("send", str(file))
    token = printed(up.typed("forget", "ada", "other", "--json"))["after"]

    asked = up.typed("ask", "ada", "physio?", "--after", token, "--timeout", "30", "--json")
    digest = printed(up.typed("digest", "ada", "--json"))

    assert [hit["memory_id"] for hit in printed(asked)["hits"]] == ["m1"]
    assert [memory["memory_id"] for memory in digest[0]["memories"]] == ["m1"]
    assert digest[0]["generation"] == "hash/64"


@pytest.mark.timeout(UP)
def test_an_erased_user_is_gone_and_the_receipt_says_so(up: Up, run: Run) -> None:
    file = up.directory / "erased.jsonl"
    file.write_text('{"user_id": "eve", "memory_id": "m1", "text": "to be gone"}\n')
    run("send", str(file))
    token = printed(run("forget", "eve", "other", "--json"))["after"]
    run("ask", "eve", "?", "--after", token, "--timeout", "30")

    receipt = printed(run("erase", "eve", "--yes", "--json"))

    assert (receipt["user_id"], receipt["found"]) == ("eve", 0)
    assert sum(receipt["deleted"].values()) > 0
    assert printed(run("digest", "eve", "--json")) == []


def test_a_second_service_in_the_same_directory_is_refused(up: Up, run: Run) -> None:
    result = run("up")

    assert result.returncode == 1
    assert f"as process {up.process.pid}" in result.stderr


@pytest.mark.timeout(UP)
def test_the_demo_asks_its_questions_over_kafka(up: Up) -> None:
    addresses = {name: value for name, value in up.addresses.items() if name != "pid"}

    found = _run(Settings.of(addresses), learns=False)

    assert (found.memories, found.questions) == (152, 40)
    assert [score.method for score in found.scores] == [
        "dense", "keyword", "subject fusion", "full score, served",
    ]  # fmt: skip
    assert all(0 < score.recall_10 <= 1 for score in found.scores)
    best = found.answer.hits[0]
    assert sum(best.parts.values()) == pytest.approx(best.score, abs=1e-4)


@pytest.mark.timeout(UP)
def test_ctrl_c_leaves_no_process_and_the_next_start_serves_the_same_data(up: Up, run: Run) -> None:
    token = printed(run("forget", "bob", "m1", "--json"))["after"]
    processes = psutil.Process(up.process.pid).children(recursive=True)
    names = " ".join(" ".join(process.cmdline()) for process in processes)

    code = up.stop(signal.SIGINT)

    assert code == 0
    assert ("kafka.Kafka" in names, "redis" in names, names.count("worker")) == (True, True, 3)
    assert [process for process in processes if process.is_running()] == []
    up.start()
    answer = run("ask", "bob", "?", "--after", token, "--timeout", "30", "--json")
    assert printed(answer)["status"] == "ok"


@pytest.mark.slow
@pytest.mark.timeout(3 * UP)
def test_the_demo_learns_from_its_questions_says_what_the_gate_made_of_it_and_keeps_nothing(
    tmp_path: Path,
) -> None:
    result = typed("demo", "--json", directory=tmp_path, variables={"SEEDMEM_ENCODER": "hash:64"})

    found = printed(result)
    learning = found["learning"]
    assert (learning["cause"], learning["lesson"], learning["questions"]) == ("pairs", "pairs", 40)
    assert learning["gate"]["overall"]["current"]["questions"] == 40
    assert found["answer"]["adapter_version"] == learning["version"]
    assert list(tmp_path.iterdir()) == []
