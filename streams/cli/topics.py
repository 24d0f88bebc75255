"""``topics create|check``."""

import typer

from streams.cli import output
from streams.cli.options import AsJson, connected
from streams.settings import Settings

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Create and check the topics of the service."
)


@app.command()
@connected
def create(*, settings: Settings, json: AsJson = False) -> None:
    """Create the topics that are missing, with SEEDMEM_PARTITIONS and SEEDMEM_REPLICATION.

    Example: SEEDMEM_PARTITIONS=24 seedmem topics create --kafka broker:9092
    """
    from streams import topics

    created = topics.create(settings)
    if json:
        output.as_json({"created": created})
    else:
        typer.echo("\n".join(f"created {name}" for name in created) or "all topics are there")


@app.command()
@connected
def check(*, settings: Settings, json: AsJson = False) -> None:
    """Check that all topics are there and that their partition counts agree.

    Example: seedmem topics check --kafka broker:9092
    """
    from streams import topics

    topics.check(settings)
    if json:
        output.as_json({"ok": True})
    else:
        typer.echo("all topics are there, with equal partition counts")
