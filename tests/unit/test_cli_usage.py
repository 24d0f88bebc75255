"""The command line without a service: help, usage, and how commands find a service."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from streams.cli import app
from streams.cli.options import settings_of
from streams.cli.running import announced, find
from streams.settings import Settings

COMMANDS = [
    "demo",
    "up",
    "worker",
    "topics create",
    "topics check",
    "send",
    "import locomo",
    "import jsonl",
    "ask",
    "forget",
    "recalled",
    "dead-letters",
    "digest",
    "erase",
    "adapters list",
    "adapters show",
    "adapters rollback",
    "adapters retrain",
]
HEAVY = ["aiokafka", "faust", "kafka", "numpy", "onnxruntime", "redis", "rich", "spacy", "torch"]
NOTHING: dict[str, str | None] = {"kafka": None, "redis": None, "namespace": None}


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Run in an empty directory, without settings in the environment."""
    for name in Settings().to_env():
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help_with_an_example(command: str) -> None:
    result = CliRunner().invoke(app, [*command.split(), "--help"])

    assert result.exit_code == 0
    assert f"Example: seedmem {command}" in " ".join(
        result.output.replace("SEEDMEM_PARTITIONS=24 ", "").split()
    )


def test_help_imports_nothing_heavy() -> None:
    code = f"import sys, streams.cli; print(sorted(set(sys.modules) & set({HEAVY})))"

    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )

    assert result.stdout.strip() == "[]"


@pytest.mark.parametrize(
    "arguments",
    [
        ["ask", "demo"],
        ["ask", "demo", "text", "-k", "0"],
        ["ask", "demo", "text", "--after", "no-token"],
        ["send", "no-such-file.jsonl"],
        ["worker", "--role", "cook"],
        ["recalled", "demo", "m1"],
        ["recalled", "demo", "m1", "--query", "who?", "--request", "r1"],
        ["adapters", "retrain"],
        ["adapters", "retrain", "demo", "--due"],
        ["no-such-command"],
    ],
)
def test_wrong_usage_ends_with_exit_code_2(arguments: list[str]) -> None:
    result = CliRunner().invoke(app, arguments)

    assert result.exit_code == 2
    assert "Error" in result.stderr
    assert result.stdout == ""


def test_an_error_is_one_line_on_standard_error_and_exit_code_1() -> None:
    command = [
        sys.executable,
        "-m",
        "streams.cli",
        "forget",
        "demo",
        "m1",
        "--kafka",
        "127.0.0.1:9",
    ]

    result = subprocess.run(command, capture_output=True, text=True, check=False)

    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("seedmem: no Kafka at 127.0.0.1:9")
    assert len(result.stderr.splitlines()) == 1


def test_a_misspelt_setting_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEEDMEM_KAFKAS", "x")

    with pytest.raises(Exception, match="unknown setting SEEDMEM_KAFKAS"):
        CliRunner().invoke(app, ["forget", "demo", "m1"], catch_exceptions=False)


def test_a_service_that_runs_is_found_and_one_that_has_stopped_is_not(tmp_path: Path) -> None:
    local = Settings(kafka="127.0.0.1:20001", redis="redis://127.0.0.1:20002/0", partitions=4)

    with announced(tmp_path, local):
        during = settings_of(tmp_path, NOTHING)
    after = settings_of(tmp_path, NOTHING)

    assert (during.kafka, during.redis, during.partitions) == (local.kafka, local.redis, 4)
    assert after == Settings()


def test_a_file_that_a_killed_service_left_is_not_believed(tmp_path: Path) -> None:
    stale = '{"kafka":"a:1","redis":"b","namespace":"","partitions":4,"encoder":"minilm","pid":1}'
    (tmp_path / "service.json").write_text(stale)

    assert find(tmp_path) is None


def test_naming_another_kafka_leaves_the_running_service_aside(tmp_path: Path) -> None:
    local = Settings(kafka="127.0.0.1:20001", redis="redis://127.0.0.1:20002/0", partitions=4)

    with announced(tmp_path, local):
        settings = settings_of(tmp_path, NOTHING | {"kafka": "broker:9092"})

    assert settings == Settings(kafka="broker:9092")


def test_an_option_wins_over_the_running_service(tmp_path: Path) -> None:
    with announced(tmp_path, Settings(kafka="127.0.0.1:20001", namespace="here-")):
        settings = settings_of(tmp_path, NOTHING | {"namespace": "there-"})

    assert (settings.kafka, settings.namespace) == ("127.0.0.1:20001", "there-")
