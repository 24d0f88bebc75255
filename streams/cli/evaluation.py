"""The tables of ``eval``."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import typer

from streams.cli import output

Row = Mapping[str, Any]
"""As ``seedmem.evaluate.report`` makes them."""


def show(rows: Sequence[Row], confidence: Sequence[Row], *, users: bool) -> None:
    columns = [
        "method",
        "split",
        "n ",
        "R@1 ",
        "R@5 ",
        "R@10 ",
        "MRR ",
        "nDCG@10 ",
        "p50 ms ",
        "p99 ms ",
    ]
    columns += ["ΔR@1 [95 %] ", "ΔR@10 [95 %] ", "won/lost@10 "]
    shown = _shown(rows, users=users)
    for data, stratum in dict.fromkeys((row["data"], row["stratum"]) for row in shown):
        own = [r for r in shown if (r["data"], r["stratum"]) == (data, stratum)]
        output.table(columns, map(_line, own), title=f"{data}: {stratum}")
    for row in confidence:
        quiet = row["abstained"]
        typer.echo(
            f"{row['data']}: confidence tells {row['answerable']} answerable questions from"
            f" {row['unanswerable']} others with AUROC {row['auroc']:.3f}; abstains from"
            f" {quiet['answerable']:.1%} and {quiet['unanswerable']:.1%} of them"
        )


def show_adapters(rows: Sequence[Row], *, users: bool) -> None:
    """Print the rows of ``seedmem.evaluate.adapters``, each against its score without one."""
    columns = ["method", "split", "n ", "R@1 ", "R@5 ", "R@10 ", "MRR "]
    columns += ["ΔR@1 [95 %] ", "ΔR@10 [95 %] ", "ΔMRR [95 %] "]
    shown = _shown(rows, users=users)
    for data, stratum in dict.fromkeys((row["data"], row["stratum"]) for row in shown):
        own = [r for r in shown if (r["data"], r["stratum"]) == (data, stratum)]
        title = f"{data}: {stratum}, each against the same score without adapter"
        output.table(columns, map(_adapter_line, own), title=title)


def _shown(rows: Sequence[Row], *, users: bool) -> list[Row]:
    return [row for row in rows if row["n"] and (users or not row["stratum"].startswith("user:"))]


def show_changes(found: Sequence[Row], *, questions: int) -> None:
    """Print what ``report.compare`` found, and some of the questions whose best rank moved."""
    columns = ["data", "method", "n ", "metric", "from ", "to ", "delta ", "95 % ", "won/lost "]
    output.table(columns, (line for row in found for line in _difference_lines(row)))
    for row in found:
        for moved in row["changed"][:questions]:
            places = f"{moved['from'] or '-'} → {moved['to'] or '-'}"
            typer.echo(f"{row['method']:>11}  {places:>9}  {moved['id']}: {moved['text'][:90]}")


def _line(row: Row) -> list[object]:
    names = ("recall@1", "recall@5", "recall@10", "mrr", "ndcg@10", "p50_ms", "p99_ms")
    against = row.get("vs")
    compared = ["", "", ""]
    if against is not None:
        ten = against["recall@10"]
        compared = [_interval(against["recall@1"]), _interval(ten), f"{ten['won']}/{ten['lost']}"]
    return [row["method"], row["split"], row["n"], *(row[name] for name in names), *compared]


def _adapter_line(row: Row) -> list[object]:
    metrics = (row[name] for name in ("recall@1", "recall@5", "recall@10", "mrr"))
    compared = (_interval(row["vs"][name]) for name in ("recall@1", "recall@10", "mrr"))
    return [row["method"], row["split"], row["n"], *metrics, *compared]


def _difference_lines(row: Row) -> Iterable[list[object]]:
    for metric, found in row["difference"].items():
        counts = f"{found['won']}/{found['lost']}"
        head = [row["data"], row["method"], row["n"], metric]
        span = f"{found['low']:+.3f} … {found['high']:+.3f}"
        yield [
            *head,
            row["from"][metric],
            row["to"][metric],
            f"{found['delta']:+.3f}",
            span,
            counts,
        ]


def _interval(found: dict[str, float]) -> str:
    return f"{found['delta']:+.3f} [{found['low']:+.3f}, {found['high']:+.3f}]"
