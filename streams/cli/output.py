"""Printing: results on standard output, progress and errors on standard error."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn, TypeVar

import msgspec
import typer

if TYPE_CHECKING:
    from rich.table import Table

T = TypeVar("T")

_WIDE = 250  # columns of a file or a pipe, which has no edge to wrap lines at


def as_json(value: object) -> None:
    """Print ``value`` as one line of JSON."""
    typer.echo(msgspec.json.encode(value))


def table(columns: Sequence[str], rows: Iterable[Sequence[object]], *, title: str = "") -> None:
    """Print a table. Columns whose name ends in a space are numbers, and right-aligned."""
    from rich.console import Console

    made = _empty(columns, title)
    for row in rows:
        made.add_row(*(_shown(cell) for cell in row))
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    console.print(made)


def step(line: str) -> None:
    """Tell on standard error what is being done."""
    typer.secho(line, err=True, dim=True)


def tracked(items: Iterable[T], *, label: str, total: int | None = None) -> Iterable[T]:
    """Yield ``items`` behind a progress bar on standard error, if that is a terminal."""
    from rich.console import Console
    from rich.progress import track

    console = Console(stderr=True)
    return track(
        items,
        description=label,
        total=total,
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )


def fail(error: BaseException) -> NoReturn:
    """Say in one line on standard error what is wrong, and end with exit code 1."""
    lines = str(error).splitlines() or [type(error).__name__]
    line = " ".join(dict.fromkeys([lines[0], lines[-1]]))  # of a log: what ended, and its last word
    typer.secho(f"seedmem: {line}", err=True, fg=typer.colors.RED)
    raise SystemExit(1)


def _empty(columns: Sequence[str], title: str) -> "Table":
    from rich import box
    from rich.table import Table

    made = Table(title=title or None, box=box.SIMPLE_HEAD, title_justify="left")
    for name in columns:
        number = name.endswith(" ")
        made.add_column(name.strip(), justify="right" if number else "left", no_wrap=number)
    return made


def _shown(cell: object) -> str:
    from rich.markup import escape

    return f"{cell:.3f}" if isinstance(cell, float) else escape(str(cell))
