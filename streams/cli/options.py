"""What most commands share: how to reach the service, and ``--json``."""

import functools
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from streams.cli.running import DATA, find
from streams.settings import Settings

Command = Callable[..., None]

AsJson = Annotated[
    bool, typer.Option("--json", help="Print JSON on standard output, nothing else.")
]

_KEYWORD = inspect.Parameter.KEYWORD_ONLY


def _option(flag: str, env: str, text: str) -> Any:
    info = typer.Option(flag, envvar=env, help=text, show_default=False)
    return Annotated[str | None, info]


_CONNECTION = {
    "kafka": _option(
        "--kafka",
        "SEEDMEM_KAFKA",
        "Bootstrap servers. By default those of the 'seedmem up' that runs in this directory, "
        "else localhost:9092.",
    ),
    "redis": _option("--redis", "SEEDMEM_REDIS", "URL of Redis. By default as for --kafka."),
    "namespace": _option("--namespace", "SEEDMEM_NAMESPACE", "Prefix of topics, keys and groups."),
}
Data = Annotated[
    Path,
    typer.Option(help="Data directory of a 'seedmem up'.", file_okay=False),
]


def connected(command: Command) -> Command:
    """Give ``command`` the options of the connection; it gets the ``settings`` they make."""

    @functools.wraps(command)
    def run(*, data: Path, **given: Any) -> None:
        named = {name: given.pop(name) for name in _CONNECTION}
        command(settings=settings_of(data, named), **given)

    own = inspect.signature(command, eval_str=True).parameters.values()
    parameters = [p.replace(kind=_KEYWORD) for p in own if p.name != "settings"]
    parameters += [
        inspect.Parameter(name, _KEYWORD, annotation=option, default=None)
        for name, option in _CONNECTION.items()
    ]
    parameters.append(inspect.Parameter("data", _KEYWORD, annotation=Data, default=DATA))
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


def settings_of(data: Path, named: dict[str, str | None]) -> Settings:
    """Return the settings of the environment with ``named`` on top.

    Where nobody says which Kafka, a service that runs on ``data`` does.
    """
    running = find(data) if named["kafka"] is None else None
    found = running.settings() if running else {}
    given = {name: value for name, value in named.items() if value is not None}
    return Settings.from_env(None, **(found | given))
