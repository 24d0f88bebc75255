"""``adapters list|show|rollback|retrain``: which adapter serves a user, why, and another one."""

import asyncio
import time
import uuid
from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from streams.cli import output
from streams.cli.options import AsJson, connected
from streams.cli.stored import opened
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.events import Cause
    from streams.store import RecordStore
    from streams.supervision import Verdict

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Users' query adapters: what serves, what was decided, and what to do about it.",
)

User = Annotated[str, typer.Argument(metavar="USER")]
T = TypeVar("T")


@app.command("list")
@connected
def list_(*, settings: Settings, json: AsJson = False) -> None:
    """List every user with an adapter or a decision about one.

    Example: seedmem adapters list --json
    """
    from streams import standings

    found = asyncio.run(_with_store(settings, standings.every))
    if json:
        output.as_json(found)
        return
    rows = [(s.user_id, s.generation, s.current, s.pairs, s.decisions[0].reason) for s in found]
    output.table(["user", "generation", "version ", "pairs ", "last decision"], rows)


@app.command()
@connected
def show(*, settings: Settings, user: User, json: AsJson = False) -> None:
    """Show a user's versions and every decision, with the numbers that it was made by.

    Example: seedmem adapters show demo
    """
    from streams import standings

    found = asyncio.run(_with_store(settings, lambda store: standings.of(store, user)))
    if json:
        output.as_json(found)
        return
    for standing in found:
        kept = ", ".join(map(str, standing.versions)) or "none"
        output.table(
            ["at", "cause", "version", "held out ", "MRR before ", "MRR new ", "p ", "reason"],
            map(_row, standing.decisions),
            title=f"{standing.generation}: version {standing.current} serves; kept: {kept}",
        )


@app.command()
@connected
def rollback(*, settings: Settings, user: User, json: AsJson = False) -> None:
    """Have the version before serve again, or none if there is none; durable at once.

    Example: seedmem adapters rollback demo
    """
    from streams import standings
    from streams.client import Client
    from streams.events import AdapterPromoted

    generation, verdict = asyncio.run(
        _with_store(settings, lambda store: standings.roll_back(store, user, now=time.time()))
    )
    with Client(settings) as client:
        client.send(AdapterPromoted(user_id=user, version=verdict.version, generation=generation))
    if json:
        output.as_json(verdict)
    else:
        typer.echo(f"version {verdict.version} serves {user}, before it was {verdict.before}")


@app.command()
@connected
def retrain(
    *,
    settings: Settings,
    user: Annotated[str | None, typer.Argument(metavar="[USER]")] = None,
    due: Annotated[
        bool,
        typer.Option(
            help="Instead of one user: all who have news since a last decision that is older than "
            "SEEDMEM_RETRAIN_DAYS. For a cron job."
        ),
    ] = False,
    json: AsJson = False,
) -> None:
    """Ask the retrain worker for a new adapter; the gate decides whether it serves.

    Example: seedmem adapters retrain demo
    """
    from streams.client import Client
    from streams.events import AdapterRetrain

    if (user is None) != due:
        raise typer.BadParameter("give a user, or --due")
    cause: Cause = "asked" if user is not None else "schedule"
    names = [user] if user is not None else _due(settings)
    requests = [
        AdapterRetrain(user_id=name, request_id=uuid.uuid4().hex, reason=cause) for name in names
    ]
    with Client(settings) as client:
        client.send_all(requests)
    if json:
        output.as_json(requests)
    else:
        typer.echo(f"asked for {len(requests)}; see: seedmem adapters list")


def _due(settings: Settings) -> list[str]:
    from streams import standings

    now = time.time()
    return asyncio.run(_with_store(settings, lambda store: standings.due(store, settings, now=now)))


def _row(verdict: "Verdict") -> tuple[object, ...]:
    when = datetime.fromtimestamp(verdict.at, UTC).isoformat(" ", "minutes")
    versions = f"{verdict.before} → {verdict.version}"
    if verdict.gate is None:
        return when, verdict.cause, versions, verdict.questions, "", "", "", verdict.reason
    both = verdict.gate.overall
    numbers = both.current.mrr, both.candidate.mrr, verdict.gate.p_value
    return when, verdict.cause, versions, both.current.questions, *numbers, verdict.reason


async def _with_store(settings: Settings, call: "Callable[[RecordStore], Awaitable[T]]") -> T:
    async with opened(settings) as store:
        return await call(store)
