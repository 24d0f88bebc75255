"""What a part found: a table, targets that are met or missed, and perhaps curves to draw."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass

Cell = str | float


@dataclass(frozen=True, kw_only=True)
class Target:
    """A bound that a figure should keep."""

    claim: str
    value: float
    bound: float
    at_most: bool = True

    @property
    def met(self) -> bool:
        return self.value <= self.bound if self.at_most else self.value >= self.bound

    def __str__(self) -> str:
        sign = "≤" if self.at_most else "≥"
        verdict = "met" if self.met else "MISSED"
        return f"{verdict}: {self.claim}: {_text(self.value)}, want {sign} {_text(self.bound)}"


@dataclass(frozen=True, kw_only=True)
class Curves:
    """Lines over one x axis."""

    x_label: str
    y_label: str
    x: Sequence[float]
    lines: Mapping[str, Sequence[float]]
    logarithmic: bool = True
    """Whether both axes are."""
    dashed: Collection[str] = ()
    """Names of lines that the next line is compared with: it has their colour."""


@dataclass(frozen=True, kw_only=True)
class Result:
    """One table of one part."""

    name: str
    """Of its chart's file."""
    title: str
    note: str
    """What the data is and how it was measured."""
    columns: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    targets: Sequence[Target] = ()
    curves: Sequence[Curves] = ()
    """Drawn side by side."""

    def markdown(self) -> str:
        """Return it as Markdown."""
        table = [self.columns, ["---"] * len(self.columns), *map(_texts, self.rows)]
        lines = ["| " + " | ".join(cells) + " |" for cells in table]
        verdicts = [f"- {target}" for target in self.targets]
        return "\n".join([f"### {self.title}", "", self.note, "", *lines, "", *verdicts])

    def plain(self) -> dict[str, object]:
        """Return it as JSON knows it."""
        verdicts = [{**asdict(target), "met": target.met} for target in self.targets]
        return {
            "name": self.name,
            "title": self.title,
            "note": self.note,
            "columns": list(self.columns),
            "rows": [list(row) for row in self.rows],
            "targets": verdicts,
        }


def _texts(cells: Iterable[Cell]) -> list[str]:
    return [_text(cell) for cell in cells]


def _text(cell: Cell) -> str:
    """Return a number with three digits that count, at least."""
    if isinstance(cell, str):
        return cell
    if abs(cell) >= 100:
        return f"{cell:,.0f}"
    return f"{cell:.3g}"
