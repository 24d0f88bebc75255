"""``eval``: measure recall offline; ``eval diff``: two runs; ``eval fit``: the weights."""

import json
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from streams.cli import evaluation, output

if TYPE_CHECKING:
    from seedmem.evaluate.corpus import Corpus
    from seedmem.evaluate.learned import Learned
    from seedmem.evaluate.run import Asked
    from seedmem.retrieve import Weights

CACHE = Path("~/.cache/seedmem")


class _RunByDefault(TyperGroup):
    """``eval FILE…`` is ``eval run FILE…``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in {*self.commands, *ctx.help_option_names}:
            args = ["run", *args]
        return super().parse_args(ctx, args)


app = typer.Typer(
    cls=_RunByDefault,
    no_args_is_help=True,
    rich_markup_mode=None,
    help="Measure recall offline: seedmem eval FILE... [OPTIONS], which is seedmem eval run.",
)

_FILE = typer.Argument(metavar="FILE", exists=True, dir_okay=False, show_default=False)
File = Annotated[Path, _FILE]
Files = Annotated[list[Path], _FILE]
Encoder = Annotated[str, typer.Option(help="As of the setting SEEDMEM_ENCODER.")]
Cache = Annotated[
    Path, typer.Option(envvar="SEEDMEM_EVAL_CACHE", help="Directory where embeddings are kept.")
]
Extract = Annotated[
    bool, typer.Option("--extract", help="Extract subjects where the files bring none.")
]
Threads = Annotated[int, typer.Option(min=1, help="Threads of the encoder.")]


@app.command()
def run(
    *,
    files: Files,
    encoder: Encoder = "minilm",
    method: Annotated[
        list[str] | None, typer.Option(help="A method; may be repeated. By default all.")
    ] = None,
    baseline: Annotated[
        str, typer.Option(help="What the others are compared with.")
    ] = "dense+bm25",
    weights: Annotated[
        Path | None, typer.Option(exists=True, help="Weights in place of the shipped ones.")
    ] = None,
    json_file: Annotated[
        Path | None, typer.Option("--json", help="Write everything, question by question, here.")
    ] = None,
    chart: Annotated[Path | None, typer.Option(help="Draw a chart here: .png or .svg.")] = None,
    users: Annotated[bool, typer.Option("--users", help="Print each user too.")] = False,
    mode: Annotated[str, typer.Option(help="lookup or association.")] = "lookup",
    extract: Extract = False,
    threads: Threads = 2,
    cache: Cache = CACHE,
) -> None:
    """Measure Recall@1/5/10, MRR and nDCG@10 of every method on files of conversations.

    A file is JSON lines, as for 'seedmem import jsonl', with questions in it:
    {"kind": "query", "user_id", "id", "text", "gold": [memory ids], "category"},
    or the JSON that LoCoMo publishes. Files without questions (subjects) join by user.

    Example: seedmem eval locomo.jsonl --json run.json
    """
    from seedmem.evaluate import report
    from seedmem.evaluate.methods import FULL

    chosen = _methods(method, baseline)
    served = _weights(weights)
    corpora = _corpora(files, encoder, extract=extract, threads=threads, cache=cache, mode=mode)
    asked, seen = _asked(corpora, chosen, served)
    rows = report.rows(asked, seen, baseline=baseline)
    confidence = report.abstention(asked, method=FULL)
    evaluation.show(rows, confidence, users=users)
    if chart is not None:
        from seedmem.evaluate.chart import draw

        draw(rows, chart)
    if json_file is not None:
        content = {"encoder": encoder, "fitted_on": served.fitted_on, "results": rows}
        content |= {"abstention": confidence, "questions": report.questions(asked)}
        json_file.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
        output.step(f"wrote {json_file}")


@app.command()
def fit(
    *,
    files: Files,
    out: Annotated[Path, typer.Option(help="Where the weights are written.")],
    encoder: Encoder = "minilm",
    extract: Extract = False,
    threads: Threads = 2,
    cache: Cache = CACHE,
) -> None:
    """Fit the weights of the full score and of its confidence on files of conversations.

    Example: seedmem eval fit locomo.jsonl beam_128k.jsonl --out seedmem/retrieve/weights.json
    """
    corpora = _corpora(files, encoder, extract=extract, threads=threads, cache=cache, mode="lookup")
    names = " ".join(file.name for file in files)
    learned = _learn(corpora, f"seedmem eval fit {names} --encoder {encoder} --out {out.name}")
    out.write_text(learned.weights.to_json(), encoding="utf-8")
    output.step(f"wrote {out}")


@app.command()
def diff(*, older: File, newer: File, show: Annotated[int, typer.Option()] = 10) -> None:
    """Compare two runs that were written by --json, question by question.

    Example: seedmem eval diff before.json after.json
    """
    from seedmem.evaluate.report import compare

    before, after = (json.loads(file.read_bytes())["questions"] for file in (older, newer))
    evaluation.show_changes(compare(before, after), questions=show)


def _methods(names: Sequence[str] | None, baseline: str) -> dict[str, Any]:
    from seedmem.evaluate.methods import METHODS

    wanted = dict.fromkeys([baseline, *(names or METHODS)])
    unknown = [name for name in wanted if name not in METHODS]
    if unknown:
        raise typer.BadParameter(f"no method {unknown[0]!r}, want one of {', '.join(METHODS)}")
    return {name: maker for name, maker in METHODS.items() if name in wanted}


def _weights(file: Path | None) -> "Weights":
    from seedmem.retrieve import Weights, shipped

    return shipped() if file is None else Weights.from_json(file.read_text(encoding="utf-8"))


def _corpora(
    files: Sequence[Path], encoder: str, *, extract: bool, threads: int, cache: Path, mode: Any
) -> "list[Corpus]":
    from seedmem.encode import load_encoder
    from seedmem.errors import DataError
    from seedmem.evaluate.cache import EmbeddingCache
    from seedmem.evaluate.corpus import corpora
    from seedmem.evaluate.sources import read, with_subjects

    sources = read(files)
    if extract:
        from seedmem.extract import load_extractor

        extractor = load_extractor()
        sources = {name: with_subjects(items, extractor) for name, items in sources.items()}
    loaded = load_encoder(encoder, threads=threads)
    kept = EmbeddingCache(loaded, cache.expanduser() / "embeddings.sqlite", _encoding)
    with kept:
        made = corpora(sources, kept, mode=mode)
    if not made:
        raise DataError(f"no questions in {', '.join(str(file) for file in files)}")
    return made


def _asked(
    corpora: "list[Corpus]", methods: dict[str, Any], served: "Weights"
) -> "tuple[list[Asked], list[str]]":
    """Return the answers, and which data sets the weights had seen: there each user is left out."""
    from seedmem.evaluate.methods import LEARNED
    from seedmem.evaluate.run import ask_all

    known = [c for c in corpora if c.name in served.fitted_on] if LEARNED & set(methods) else []
    held_out = _learn(known).held_out if known else {}
    asked = ask_all(corpora, methods, held_out, served, clock=time.perf_counter, track=_asking)
    return asked, [corpus.name for corpus in known]


def _learn(corpora: "list[Corpus]", command: str = "") -> "Learned":
    from seedmem.evaluate.learned import learn

    output.step(f"fitting on {', '.join(corpus.name for corpus in corpora)}, each user left out")
    return learn(corpora, command=command)


def _encoding(batches: Iterable[int]) -> Iterable[int]:
    return output.tracked(batches, label="encoding")


def _asking(users: Sequence[Any]) -> Iterable[Any]:
    return output.tracked(users, label="asking", total=len(users))
