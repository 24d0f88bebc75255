"""``up``: a whole service on this machine, until Ctrl-C."""

import time
from typing import Annotated

import typer

from streams.cli import output, running
from streams.cli.options import AsJson, Data
from streams.errors import StartError
from streams.settings import Settings

_LOOK = 0.5  # seconds between two looks at the workers

_TRY = """
Try, in another terminal in this directory:
  seedmem import jsonl FILE.jsonl
  seedmem ask USER "a vague question"
Ctrl-C stops everything; the data stay in {data}.
"""


def up(
    data: Data = running.DATA,
    namespace: Annotated[str, typer.Option(help="Prefix of topics, keys and groups.")] = "",
    json: AsJson = False,
) -> None:
    """Run a whole service on this machine, until Ctrl-C.

    That is Apache Kafka, Redis and the workers, on 127.0.0.1, from the packages of
    pip install 'seedmem[local]'. A second run serves the data of the first. Adapters are
    learned where torch is installed: pip install 'seedmem[learn]'.

    While it runs, other commands in this directory find it by the file service.json in
    its data directory, unless SEEDMEM_KAFKA or --kafka names another service.

    Example: seedmem up --data .seedmem
    """
    from streams.cli import service

    if (other := running.find(data)) is not None:
        raise StartError(f"a seedmem up runs in {data} already, as process {other.pid}")
    settings = Settings.from_env(namespace=namespace) if namespace else Settings.from_env()
    try:
        with (
            service.stoppable(),
            service.running(data, settings, output.step, learns=service.can_learn()) as (
                local,
                workers,
            ),
            running.announced(data, local) as found,
        ):
            _introduce(found, data, json=json)
            while True:
                time.sleep(_LOOK)
                workers.check()
    except service.StoppedError:
        output.step("stopped; nothing is left running")


def _introduce(found: running.Running, data: Data, *, json: bool) -> None:
    if json:
        output.as_json(found)
        return
    output.table(
        ["", ""],
        [
            ("Kafka", found.kafka),
            ("Redis", found.redis),
            ("encoder", found.encoder),
            ("data", data.resolve()),
        ],
    )
    typer.echo(_TRY.format(data=data))
