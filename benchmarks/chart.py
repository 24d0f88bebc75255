"""Curves as PNG files."""

from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.report import Curves, Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def draw(result: Result, directory: Path) -> Path | None:
    """Draw the curves of ``result`` into ``directory``; return the file, None if it has none."""
    if not result.curves:
        return None
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    file, count = directory / f"{result.name}.png", len(result.curves)
    figure, places = plt.subplots(
        1, count, figsize=(8 if count == 1 else 6 * count, 5), layout="constrained", squeeze=False
    )
    for axes, curves in zip(places.flat, result.curves, strict=True):
        _plot(axes, curves)
    figure.legend(*places[0, 0].get_legend_handles_labels(), loc="outside right upper")
    figure.suptitle(result.title)
    directory.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
    plt.close(figure)
    return file


def _plot(axes: "Axes", curves: Curves) -> None:
    colour = 0
    for name, values in curves.lines.items():
        dashed = name in curves.dashed
        style = f"C{colour}o--" if dashed else f"C{colour}o-"
        axes.plot(curves.x, values, style, label=name)
        colour += not dashed
    scale = "log" if curves.logarithmic else "linear"
    axes.set(xscale=scale, yscale=scale, xlabel=curves.x_label, ylabel=curves.y_label)
    axes.grid(visible=True, which="both", alpha=0.3)
