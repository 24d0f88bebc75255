"""Curves as PNG files."""

from pathlib import Path

from benchmarks.report import Result


def draw(result: Result, directory: Path) -> Path | None:
    """Draw the curves of ``result`` into ``directory``; return the file, None if it has none."""
    if result.curves is None:
        return None
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    curves, file = result.curves, directory / f"{result.name}.png"
    figure, axes = plt.subplots(figsize=(8, 5), layout="constrained")
    for name, values in curves.lines.items():
        axes.plot(curves.x, values, marker="o", label=name)
    axes.set(xscale="log", yscale="log", xlabel=curves.x_label, ylabel=curves.y_label)
    axes.set_title(result.title)
    axes.grid(visible=True, which="both", alpha=0.3)
    axes.legend()
    directory.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=120)
    plt.close(figure)
    return file
