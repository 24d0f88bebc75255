"""The command: ``python -m benchmarks [PART ...] [--json FILE] [--chart DIRECTORY]``."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Callable, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from benchmarks.bench import Bench
    from benchmarks.report import Result

PARTS = (
    "query",
    "growth",
    "storage",
    "roundtrip",
    "ingest",
    "freshness",
    "restart",
    "fit",
    "simulation",
)
"""Each is a module with ``measure(bench) -> list[Result]``."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the parts that are named, or all, and print what they found."""
    options = _parser().parse_args(arguments)
    # One thread computes, as in a worker beside its event loop; read when numpy is imported.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    from benchmarks.bench import QUICK, Bench, Sizes
    from benchmarks.chart import draw
    from benchmarks.data import talk

    found: list[Result] = []
    with Bench(
        QUICK if options.quick else Sizes(),
        talk(options.data) if options.data else talk(),
        progress=lambda line: print(line, file=sys.stderr, flush=True),
    ) as bench:
        for part in options.parts or PARTS:
            for result in _measure(part)(bench):
                found.append(result)
                print(result.markdown(), end="\n\n", flush=True)
                if options.chart:
                    draw(result, options.chart)
    if options.json:
        options.json.write_text(json.dumps(_plain(found), indent=2) + "\n")


def _measure(part: str) -> "Callable[[Bench], list[Result]]":
    module = import_module(f"benchmarks.{part}")
    return cast("Callable[[Bench], list[Result]]", module.measure)


def _plain(results: "Sequence[Result]") -> dict[str, object]:
    machine = {"processors": os.cpu_count(), "machine": platform.machine(),
               "python": platform.python_version()}  # fmt: skip
    return {"machine": machine, "results": [result.plain() for result in results]}


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART",
                        help=f"one of {', '.join(PARTS)}; none: all")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there")
    parser.add_argument("--chart", type=Path, metavar="DIRECTORY", help="draw the curves there")
    parser.add_argument("--data", type=Path, metavar="FILE", help="conversation as JSON lines")
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that all runs")
    return parser


if __name__ == "__main__":
    main()
