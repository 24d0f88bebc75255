"""The ``seedmem`` command. One file a group; heavy imports are inside what needs them."""

import logging

import typer

from seedmem.errors import SeedmemError
from streams.cli import adapters, ask, demo, eval, files, inspect, output, topics, up, worker
from streams.errors import StreamsError

app = typer.Typer(
    name="seedmem",
    help="Streaming retrieval of personal memories: Kafka in, the one memory a vague question "
    "means out. Start with: seedmem demo",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,  # the rich form takes 0.4 s to import
)
for command in (demo.demo, up.up, worker.worker, ask.ask, files.send, ask.forget, ask.recalled):
    app.command()(command)
for command in (inspect.dead_letters, inspect.digest, ask.erase):
    app.command()(command)
app.add_typer(topics.app, name="topics")
app.add_typer(files.app, name="import")
app.add_typer(adapters.app, name="adapters")
app.add_typer(eval.app, name="eval")


def main() -> None:
    """Run the command line: exit code 0, 1 for an error of the service, 2 for wrong usage."""
    logging.getLogger().addHandler(logging.NullHandler())  # libraries' warnings; a worker logs
    try:
        app(prog_name="seedmem")
    except (StreamsError, SeedmemError) as error:
        output.fail(error)
