"""``send`` and ``import``: files of events, files of conversations."""

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from streams.cli import output
from streams.cli.options import AsJson, connected
from streams.errors import StreamsError
from streams.events import Event, MemoryCreated, MemoryRecalled, SubjectExtracted, UserErased
from streams.refusal import RefusedError
from streams.settings import Settings
from streams.wire import decode

if TYPE_CHECKING:
    from seedmem.evaluate.datasets import Item

_File = typer.Argument(metavar="FILE", exists=True, dir_okay=False, show_default=False)
File = Annotated[Path, _File]
Files = Annotated[
    list[Path], typer.Argument(metavar="FILE", exists=True, dir_okay=False, show_default=False)
]
Topic = Literal["memory-created", "subject-extracted", "memory-recalled", "user-erased"]

_KINDS: dict[str, type[Event]] = {
    "memory-created": MemoryCreated,
    "subject-extracted": SubjectExtracted,
    "memory-recalled": MemoryRecalled,
    "user-erased": UserErased,
}

app = typer.Typer(
    no_args_is_help=True, rich_markup_mode=None, help="Import conversations from files."
)


@connected
def send(
    *,
    settings: Settings,
    file: File,
    topic: Annotated[Topic, typer.Option(help="What the lines are.")] = "memory-created",
    json: AsJson = False,
) -> None:
    """Send a file of events, one JSON object a line.

    The fields are those of the event contract, in the README.

    Example: seedmem send events.jsonl --topic memory-created
    """
    sent = _send(settings, _events(file, _KINDS[topic]), label=file.name)
    _report({"sent": sent}, f"sent {sent} events to {topic}", json=json)


@app.command()
@connected
def jsonl(*, settings: Settings, files: Files, json: AsJson = False) -> None:
    """Import memories and subjects from JSON lines; questions in them are skipped.

    A line is {"kind": "memory", "user_id", "id", "text", "timestamp", "session", "speaker"}
    or {"kind": "subject", "user_id", "id", "text", "memories"}.

    Example: seedmem import jsonl chats.jsonl subjects.jsonl
    """
    from seedmem.evaluate.datasets import parse_lines

    def items(file: Path) -> "Iterator[Item]":
        with file.open("rb") as lines:
            yield from parse_lines(lines)

    _import(settings, [(file, items(file)) for file in files], json=json)


@app.command()
@connected
def locomo(*, settings: Settings, files: Files, json: AsJson = False) -> None:
    """Import LoCoMo's conversations: its published JSON, or JSON lines.

    Example: seedmem import locomo locomo10.json
    """
    from seedmem.evaluate.datasets import parse_lines, parse_locomo

    def items(file: Path) -> "Iterable[Item]":
        text = file.read_bytes()
        published = text.lstrip().startswith(b"[")
        return parse_locomo(text) if published else parse_lines(text.split(b"\n"))

    _import(settings, [(file, items(file)) for file in files], json=json)


def events_of(items: "Iterable[Item]", counts: Counter[str]) -> Iterator[Event]:
    """Yield the events of memories and subjects; ``counts`` counts every kind of item."""
    from seedmem.evaluate.datasets import MemoryItem, SubjectItem

    for item in items:
        if isinstance(item, MemoryItem):
            counts["memories"] += 1
            yield MemoryCreated(
                user_id=item.user_id,
                memory_id=item.id,
                text=item.text,
                created_at=item.created_at,
                session_id=item.session,
                role=item.speaker,
            )
        elif isinstance(item, SubjectItem):
            counts["subjects"] += 1
            yield SubjectExtracted(
                user_id=item.user_id,
                subject_id=item.id,
                name=item.name,
                memory_ids=list(item.memory_ids),
            )
        else:
            counts["queries"] += 1


def _import(
    settings: Settings, sources: "list[tuple[Path, Iterable[Item]]]", *, json: bool
) -> None:
    from seedmem.errors import DataError

    counts: Counter[str] = Counter(memories=0, subjects=0, queries=0)
    for file, items in sources:
        try:
            _send(settings, events_of(items, counts), label=file.name)
        except DataError as error:
            raise DataError(f"{file}: {error}") from error
    _report(
        dict(counts),
        f"imported {counts['memories']} memories and {counts['subjects']} subjects; "
        f"skipped {counts['queries']} questions",
        json=json,
    )


def _send(settings: Settings, events: Iterable[Event], *, label: str) -> int:
    from streams.client import Client

    with Client(settings) as client:
        return len(client.send_all(output.tracked(events, label=label)))


def _events(file: Path, kind: type[Event]) -> Iterator[Event]:
    with file.open("rb") as lines:
        for number, line in enumerate(lines, start=1):
            try:
                yield decode(line, kind)
            except RefusedError as error:
                raise StreamsError(f"{file}:{number}: {error}") from error


def _report(counts: dict[str, int], line: str, *, json: bool) -> None:
    if json:
        output.as_json(counts)
    else:
        typer.echo(line)
