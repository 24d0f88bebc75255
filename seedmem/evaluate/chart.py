"""The report as a picture: recall and MRR of each method, overall and on vague questions."""

from collections.abc import Sequence
from pathlib import Path

from seedmem.evaluate.report import Row

_SHOWN = ("recall@1", "recall@10", "mrr")
_STRATA = ("all", "vague")


def draw(rows: Sequence[Row], file: Path) -> None:
    """Write a chart of ``rows`` to ``file``; its suffix says whether PNG, SVG or PDF.

    Raises:
        ValueError: the suffix is none that matplotlib can write.
    """
    from matplotlib.figure import Figure

    datas = list(dict.fromkeys(row["data"] for row in rows))
    figure = Figure(figsize=(6.0 * len(_STRATA), 3.2 * len(datas)), layout="constrained")
    panels = figure.subplots(len(datas), len(_STRATA), squeeze=False)
    for across, data in zip(panels, datas, strict=True):
        for axes, stratum in zip(across, _STRATA, strict=True):
            own = [r for r in rows if (r["data"], r["stratum"]) == (data, stratum) and r["n"]]
            for number, metric in enumerate(_SHOWN):
                places = [index + 0.27 * (number - 1) for index in range(len(own))]
                axes.bar(places, [row[metric] for row in own], width=0.25, label=metric)
            axes.set_xticks(range(len(own)), [row["method"] for row in own])
            axes.set_ylim(0.0, 1.0)
            axes.set_title(f"{data}: {stratum}, {own[0]['n'] if own else 0} questions")
            axes.grid(axis="y", alpha=0.3)
    panels[0][0].legend(loc="upper left")
    figure.savefig(file)
