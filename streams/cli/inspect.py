"""``dead-letters`` and ``digest``: look at what the service has refused, and at what it holds."""

import asyncio
from typing import TYPE_CHECKING, Annotated

import typer

from streams.cli import output
from streams.cli.options import AsJson, connected
from streams.cli.stored import opened
from streams.events import DeadLetter
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.digest import UserDigest


@connected
def dead_letters(
    *,
    settings: Settings,
    last: Annotated[int, typer.Option(min=1, help="Most events to show, the latest.")] = 50,
    json: AsJson = False,
) -> None:
    """List refused events, and why they were.

    Example: seedmem dead-letters --last 10
    """
    from streams.archive import read_all
    from streams.topics import Topics
    from streams.wire import decode

    topic = Topics(settings.namespace).dead_letter
    records = sorted(read_all(settings, topic), key=lambda record: record.timestamp)
    letters = [decode(record.value, DeadLetter) for record in records[-last:]]
    if json:
        output.as_json(letters)
        return
    rows = [(f"{x.topic}[{x.partition}]@{x.offset}", x.reason, x.field, x.detail) for x in letters]
    output.table(["event", "reason", "field", "detail"], rows)
    typer.echo(f"{len(letters)} of {len(records)} refused events")


@connected
def digest(
    *,
    settings: Settings,
    user: Annotated[str | None, typer.Argument(metavar="[USER]", help="All by default.")] = None,
    json: AsJson = False,
) -> None:
    """Print digests: equal states have equal ones.

    Example: seedmem digest demo --json
    """
    found = asyncio.run(_digests(settings, user))
    if json:
        output.as_json(found)
    else:
        rows = [(d.user_id, d.generation, len(d.memories), d.digest) for d in found]
        output.table(["user", "generation", "memories ", "digest"], rows)


async def _digests(settings: Settings, user: str | None) -> "list[UserDigest]":
    from streams.digest import digests

    async with opened(settings) as store:
        return [found async for found in digests(store, user)]
