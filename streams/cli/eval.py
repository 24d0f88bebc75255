"""``eval``: measure recall offline; ``eval diff``: two runs; ``eval fit``: the weights."""

import json
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from streams.cli import evaluation, output

if TYPE_CHECKING:
    from seedmem.adapt import Adapter
    from seedmem.evaluate.cache import EmbeddingCache
    from seedmem.evaluate.corpus import Corpus
    from seedmem.evaluate.learned import Learned
    from seedmem.evaluate.run import Fitted
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
    adapters: Annotated[
        bool, typer.Option("--adapters", help="Fit and try query adapters too; takes minutes.")
    ] = False,
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
    from seedmem.evaluate.adapters import adapter_rows
    from seedmem.evaluate.chart import draw
    from seedmem.evaluate.methods import FULL, LEARNED
    from seedmem.evaluate.run import ask_all

    chosen = _methods(method, baseline)
    served = _weights(weights)
    corpora = _corpora(files, encoder, extract=extract, threads=threads, cache=cache, mode=mode)
    free = _label_free(corpora, encoder, threads, cache) if adapters else {}
    held_out = _held_out(corpora, served, free) if adapters or LEARNED & set(chosen) else {}
    asked = ask_all(corpora, chosen, held_out, served, clock=time.perf_counter, track=_asking)
    rows = report.rows(asked, served.fitted_on, baseline=baseline)
    confidence = report.abstention(asked, method=FULL)
    evaluation.show(rows, confidence, users=users)
    tried = corpora if adapters else []
    adapted = adapter_rows(tried, free, held_out, served, track=_fitting)
    evaluation.show_adapters(adapted, users=users)
    if chart is not None:
        draw(rows, chart)
    if json_file is not None:
        content = {"encoder": encoder, "fitted_on": served.fitted_on, "results": rows}
        content |= {"adapters": adapted, "abstention": confidence}
        content["questions"] = report.questions(asked)
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
    personal: Annotated[
        list[Path] | None,
        typer.Option(help="Of FILEs, one whose users teach the weights beside a lexicon; minutes."),
    ] = None,
    cache: Cache = CACHE,
) -> None:
    """Fit the weights of the full score and of its confidence on files of conversations.

    Example: seedmem eval fit locomo.jsonl beam_128k.jsonl --personal locomo.jsonl --out own.json
    """
    corpora = _corpora(files, encoder, extract=extract, threads=threads, cache=cache, mode="lookup")
    chosen = {file.stem for file in personal or ()}
    free = _label_free([c for c in corpora if c.name in chosen], encoder, threads, cache)
    words = [
        *(file.name for file in files),
        *(f"--personal {file.name}" for file in personal or ()),
    ]
    words += [f"--encoder {encoder}", f"--out {out.name}"]
    learned = _learn(corpora, free, f"seedmem eval fit {' '.join(words)}")
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
    from seedmem.errors import DataError
    from seedmem.evaluate.corpus import corpora
    from seedmem.evaluate.sources import read, with_subjects

    sources = read(files)
    if extract:
        from seedmem.extract import load_extractor

        extractor = load_extractor()
        sources = {name: with_subjects(items, extractor) for name, items in sources.items()}
    with _encoder(encoder, threads=threads, cache=cache) as kept:
        made = corpora(sources, kept, mode=mode)
    if not made:
        raise DataError(f"no questions in {', '.join(str(file) for file in files)}")
    return made


def _encoder(name: str, *, threads: int, cache: Path) -> "EmbeddingCache":
    from seedmem.encode import load_encoder
    from seedmem.evaluate.cache import EmbeddingCache

    loaded = load_encoder(name, threads=threads)
    return EmbeddingCache(loaded, cache.expanduser() / "embeddings.sqlite", _encoding)


def _label_free(
    corpora: "list[Corpus]", encoder: str, threads: int, cache: Path
) -> "dict[str, Adapter]":
    from seedmem.evaluate.adapters import label_free

    with _encoder(encoder, threads=threads, cache=cache) as kept:
        return label_free(corpora, kept, track=_fitting)


def _held_out(
    corpora: "list[Corpus]", served: "Weights", free: "Mapping[str, Adapter]"
) -> "Fitted":
    """Return, for the users that ``served`` has seen, weights that have not."""
    known = [corpus for corpus in corpora if corpus.name in served.fitted_on]
    return _learn(known, free).held_out if known else {}


def _learn(corpora: "list[Corpus]", free: "Mapping[str, Adapter]", command: str = "") -> "Learned":
    from seedmem.evaluate.learned import learn

    output.step(f"fitting on {', '.join(corpus.name for corpus in corpora)}, each user left out")
    return learn(corpora, free, command=command)


def _encoding(batches: Iterable[int]) -> Iterable[int]:
    return output.tracked(batches, label="encoding")


def _asking(users: Sequence[Any]) -> Iterable[Any]:
    return output.tracked(users, label="asking", total=len(users))


def _fitting(users: Sequence[Any]) -> Iterable[Any]:
    return output.tracked(users, label="fitting adapters", total=len(users))
