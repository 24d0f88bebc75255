"""``ask``, ``forget``, ``recalled``, ``erase``: what a client does, one event at a time."""

import uuid
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from streams.cli import output
from streams.cli.options import AsJson, connected
from streams.errors import AnswerTimeout, StreamsError
from streams.events import After, EraseReceipt, Filters, QueryReply, Status, WireHit
from streams.settings import Settings

if TYPE_CHECKING:
    from streams.client import Client


def token_of(place: After) -> str:
    """Return the token that ``ask --after`` takes."""
    return f"{place.topic}:{place.partition}:{place.offset}"


def _place(token: str) -> After:
    topic, _, rest = token.partition(":")
    partition, _, offset = rest.partition(":")
    if not (topic and partition.isdecimal() and offset.isdecimal()):
        raise typer.BadParameter(f"want TOPIC:PARTITION:OFFSET, got {token!r}")
    return After(topic=topic, partition=int(partition), offset=int(offset))


User = Annotated[str, typer.Argument(metavar="USER", help="The user id.", show_default=False)]
MemoryId = Annotated[str, typer.Argument(metavar="MEMORY_ID", show_default=False)]
Seconds = Annotated[float | None, typer.Option(min=0.001, help="Seconds to wait for the reply.")]
Token = Annotated[
    After | None,
    typer.Option(parser=_place, metavar="TOKEN", help="Wait until this event is applied."),
]


@connected
def ask(
    *,
    settings: Settings,
    user: User,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The question.", show_default=False)],
    k: Annotated[int, typer.Option("-k", min=1, help="Most hits.")] = 10,
    mode: Annotated[Literal["lookup", "association"], typer.Option()] = "lookup",
    as_of: Annotated[str | None, typer.Option(help="Answer as at this time (ISO 8601).")] = None,
    after: Token = None,
    session: Annotated[list[str] | None, typer.Option(help="Only from this session.")] = None,
    subject: Annotated[list[str] | None, typer.Option(help="Only about this subject.")] = None,
    since: Annotated[str | None, typer.Option(help="Only from this time on (ISO 8601).")] = None,
    until: Annotated[str | None, typer.Option(help="Only before this time (ISO 8601).")] = None,
    timeout: Seconds = None,
    explain: Annotated[bool, typer.Option(help="Show the parts of each score.")] = False,
    json: AsJson = False,
) -> None:
    """Ask a user's memories a question.

    Example: seedmem ask demo "who was it that recommended the physio?" --explain
    """
    filters = Filters(subjects=subject or [], sessions=session or [], since=since, until=until)
    with _client(settings) as client:
        answer = client.ask(
            user,
            text,
            k=k,
            mode=mode,
            as_of=as_of,
            after=after,
            filters=filters,
            deadline_ms=None if timeout is None else max(1, round(timeout * 1_000)),
            explain=explain,
        )
    if json:
        output.as_json(answer)
    elif answer.status in (Status.OK, Status.PARTIAL):
        show(answer, explain=explain)
    if answer.status not in (Status.OK, Status.PARTIAL):
        raise StreamsError(f"{answer.status}: {answer.reason or 'the service gave no reason'}")


@connected
def forget(*, settings: Settings, user: User, memory_id: MemoryId, json: AsJson = False) -> None:
    """Remove a memory.

    Example: seedmem forget demo m001
    """
    with _client(settings) as client:
        place = client.forget(user, memory_id)
    _report(place, f"{memory_id} is forgotten", json=json)


@connected
def recalled(
    *,
    settings: Settings,
    user: User,
    memory_id: MemoryId,
    query: Annotated[str | None, typer.Option(help="Text of the question it answered.")] = None,
    request: Annotated[str | None, typer.Option(help="Request id of the answer, instead.")] = None,
    rejected: Annotated[bool, typer.Option("--rejected", help="It was not the answer.")] = False,
    json: AsJson = False,
) -> None:
    """Say that a memory was the answer: the ranking learns.

    Example: seedmem recalled demo m011 --query "who was it that recommended the physio?"
    """
    if (query is None) == (request is None):
        raise typer.BadParameter("give either --query or --request")
    outcome: Literal["used", "rejected"] = "rejected" if rejected else "used"
    with _client(settings) as client:
        place = client.recalled(user, memory_id, query=query, request_id=request, outcome=outcome)
    _report(place, f"{memory_id} is noted as {outcome}", json=json)


@connected
def erase(
    *,
    settings: Settings,
    user: User,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask back.")] = False,
    timeout: Annotated[float, typer.Option(help="Seconds to wait for the receipt.")] = 30.0,
    json: AsJson = False,
) -> None:
    """Erase everything of a user, for good, and show the receipt.

    Example: seedmem erase demo --yes
    """
    if not yes:
        typer.confirm(f"Erase everything of {user}?", abort=True, err=True)
    receipt = _erased(settings, user, timeout)
    if json:
        output.as_json(receipt)
    else:
        output.table(["store", "deleted "], receipt.deleted.items())
        typer.echo(f"{receipt.found} memories of {user} are found now")


def show(answer: QueryReply, *, explain: bool) -> None:
    """Print an answer as a table."""
    rows = [
        (rank, hit.score, hit.memory_id, hit.text, *([_parts(hit)] if explain else []))
        for rank, hit in enumerate(answer.hits, start=1)
    ]
    output.table(["# ", "score ", "memory", "text", *(["parts"] if explain else [])], rows)
    typer.echo(
        f"{len(rows)} hits in {answer.took_ms:.1f} ms, confidence {answer.confidence:.2f}"
        + (", probably nothing relevant" if answer.abstained else "")
        + (f", without {', '.join(answer.missing)}" if answer.missing else "")
    )


def _parts(hit: WireHit) -> str:
    """Return the shares of a score, the largest first; those below 0.005 are left out."""
    shares = sorted(hit.parts.items(), key=lambda part: -abs(part[1]))
    return "\n".join(f"{share:+.2f} {name}" for name, share in shares if abs(share) >= 0.005)


def _erased(settings: Settings, user: str, timeout: float) -> EraseReceipt:
    from streams.archive import follow
    from streams.topics import Topics
    from streams.wire import decode

    request_id = uuid.uuid4().hex
    topic = Topics(settings.namespace).erase_receipt
    with _client(settings) as client, follow(settings, topic, seconds=timeout) as coming:
        client.erase(user, request_id=request_id)
        for record in coming:
            receipt = decode(record.value, EraseReceipt)
            if receipt.request_id == request_id:
                return receipt
    raise AnswerTimeout(
        f"no receipt of erasure {request_id} within {timeout:g} s; is a worker running? "
        "It will be carried out when one is"
    )


def _report(place: After, line: str, *, json: bool) -> None:
    if json:
        output.as_json({"after": token_of(place)})
    else:
        typer.echo(f"{line} (token {token_of(place)})")


def _client(settings: Settings) -> "Client":
    from streams.client import Client

    return Client(settings)
