"""A command that only looks never begins a store."""

import pytest
from redis import Redis
from typer.testing import CliRunner

from streams.cli import app
from streams.errors import StreamsError


@pytest.mark.parametrize("command", [["digest"], ["adapters", "list"]])
def test_a_mistyped_namespace_is_an_error_and_leaves_no_trace(command, redis_url, namespace):
    arguments = [*command, "--redis", redis_url, "--namespace", namespace, "--kafka", "127.0.0.1:9"]

    with pytest.raises(StreamsError, match="no service with the namespace"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)

    with Redis.from_url(redis_url) as server:
        assert server.keys(f"{namespace}*") == []
