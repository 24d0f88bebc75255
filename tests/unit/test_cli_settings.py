"""A setting or an option that cannot be is one line, whatever the library beneath would say."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from seedmem.encode import load_encoder
from seedmem.errors import EncoderError
from streams.cli import app
from streams.errors import ConfigError
from streams.settings import Settings


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("KAFKA", "host:notaport", "SEEDMEM_KAFKA: got 'host:notaport', want HOST:PORT"),
        ("KAFKA", "host:99999", "SEEDMEM_KAFKA: got 'host:99999'"),
        ("KAFKA", "one:9092,,two:9092", "SEEDMEM_KAFKA: got ''"),
        ("REDIS", "foo", "SEEDMEM_REDIS: got 'foo', want redis://HOST:PORT/DATABASE"),
        ("REDIS", "redis://host:port/0", "SEEDMEM_REDIS: got 'redis://...'"),
        ("REDIS", "http://:secret@host/", "SEEDMEM_REDIS: got 'http://...'"),
        ("DEADLINE", "inf", "deadline"),
        ("DEADLINE", "nan", "deadline"),
        ("RETRAIN_GROWTH", "inf", "retrain_growth"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(name: str, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as refused:
        Settings.from_env({f"SEEDMEM_{name}": value})

    assert said in str(refused.value)
    assert "secret" not in str(refused.value)


@pytest.mark.parametrize("kafka", ["host", "host:9092", "[::1]:9092", "one:1,two:2", "10.0.0.1:9"])
@pytest.mark.parametrize(
    "redis",
    ["redis://host", "redis://host:6379/0", "rediss://:pw@host:6380/1", "unix:///run/redis"],
)
def test_every_usual_address_is_taken(kafka: str, redis: str) -> None:
    settings = Settings.from_env({"SEEDMEM_KAFKA": kafka, "SEEDMEM_REDIS": redis})

    assert (settings.kafka, settings.redis) == (kafka, redis)


def test_a_wrong_address_ends_a_command_in_one_line(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streams.cli", "ask", "demo", "what?"]
    environment = os.environ | {"SEEDMEM_KAFKA": "host:notaport"}

    result = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert result.returncode == 1
    assert result.stderr.startswith("seedmem: SEEDMEM_KAFKA: got 'host:notaport'")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("command", [["forget", "demo", "m1"], ["up"], ["demo"]])
def test_a_file_where_a_data_directory_is_wanted_is_wrong_usage(
    command: list[str], tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.touch()

    result = CliRunner().invoke(app, [*command, "--data", str(file)])

    assert result.exit_code == 2
    assert "is a file" in result.stderr


@pytest.mark.parametrize("name", ["hash:0", "hash:", "hash", "given:many"])
def test_a_dimension_that_is_none_is_refused_with_an_example_that_works(name: str) -> None:
    with pytest.raises(EncoderError) as refused:
        load_encoder(name)

    assert load_encoder(str(refused.value).rpartition(" ")[2]).space.dim == 384
