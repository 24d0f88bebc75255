"""``demo``: a service of its own, one person's life, forty vague questions, one table."""

from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import msgspec
import typer

from streams.cli import output
from streams.cli.ask import show
from streams.cli.options import AsJson
from streams.events import QueryReply
from streams.settings import Settings

if TYPE_CHECKING:
    from seedmem.evaluate.datasets import QueryItem
    from streams.cli.trial import Score
    from streams.supervision import Verdict

_SHOWN = 3  # hits of the example
_QUESTIONS = 40  # of the life: once all of them are pairs, the learning begins


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What a run of the demo found."""

    memories: int
    questions: int
    scores: "list[Score]"
    question: str
    gold: list[str]
    answer: QueryReply
    """To ``question``."""
    learning: "Verdict | None"
    """What became of the questions as pairs; None where nothing was learned."""


def demo(
    data: Annotated[
        Path | None,
        typer.Option(
            help="Keep the data here, for a seedmem up.  [default: removed at the end]",
            file_okay=False,
        ),
    ] = None,
    learn: Annotated[
        bool | None,
        typer.Option(
            help="Also show the learning, for a minute.  [default: where torch is installed]",
            show_default=False,
        ),
    ] = None,
    json: AsJson = False,
) -> None:
    """Try everything once: a life of 150 memories, 40 vague questions.

    Starts a service of its own on this machine, streams the life through Kafka, asks the
    questions over Kafka, prints how many were answered, and stops everything again. The
    service's answers are compared with those of each of its legs alone. Then the questions
    and their answers become pairs to learn from, and the gate says whether that would help.

    Example: seedmem demo
    """
    from streams.cli import service

    try:
        with service.stoppable(), ExitStack() as stack:
            folder = data or Path(stack.enter_context(TemporaryDirectory(prefix="seedmem-demo-")))
            settings = Settings.from_env(retrain_pairs=_QUESTIONS)
            learns = service.can_learn() if learn is None else learn
            running = service.running(folder, settings, output.step, learns=learns)
            local, _workers = stack.enter_context(running)
            outcome = _run(local, learns=learns)
    except service.StoppedError:
        output.step("stopped; nothing is left running")
        raise typer.Exit(1) from None
    if json:
        output.as_json(outcome)
    else:
        _print(outcome)


def _run(settings: Settings, *, learns: bool) -> Outcome:
    from streams.cli import trial
    from streams.client import Client

    life = trial.Life.bundled()
    with Client(settings) as client:
        output.step(f"streaming {len(life.memories)} memories of two years through Kafka")
        last = trial.remember(client, life)
        output.step("waiting until they and their subjects are searchable")
        trial.settle(client, life, last)
        output.step(f"asking {len(life.questions)} questions over Kafka")
        rankings = trial.by_leg(client, life) | {"full score, served": trial.served(client, life)}
        example = _example(life.questions, rankings["full score, served"])
        if learns:
            output.step("telling which memories were meant; the retrain worker learns from it")
        verdict = trial.learned(client, life) if learns else None
        answer = client.ask(trial.USER, example.text, k=_SHOWN, explain=True)
    return Outcome(
        memories=len(life.memories),
        questions=len(life.questions),
        scores=[trial.score(method, found, life) for method, found in rankings.items()],
        question=example.text,
        gold=list(example.gold),
        answer=answer,
        learning=verdict,
    )


def _example(questions: "tuple[QueryItem, ...]", rankings: list[list[str]]) -> "QueryItem":
    """Return the first question that was answered right, or the first of all."""
    pairs = zip(questions, rankings, strict=True)
    return next((q for q, ranking in pairs if ranking and ranking[0] in q.gold), questions[0])


def _print(outcome: Outcome) -> None:
    output.table(
        ["method", "Recall@1 ", "Recall@5 ", "Recall@10 ", "MRR@10 "],
        [(s.method, s.recall_1, s.recall_5, s.recall_10, s.mrr) for s in outcome.scores],
        title=f"{outcome.questions} vague questions about {outcome.memories} memories",
    )
    if outcome.learning is not None:
        _print_learning(outcome.learning)
    typer.echo(f'"{outcome.question}"  (meant: {", ".join(outcome.gold)})')
    show(outcome.answer, explain=True)


def _print_learning(verdict: "Verdict") -> None:
    if verdict.gate is not None:
        both = verdict.gate.overall
        names = f"version {verdict.before}, serves", "a new adapter"
        output.table(
            ["the gate compared", "Recall@1 ", "Recall@10 ", "MRR "],
            [
                (name, found.recall_at_1, found.recall_at_10, found.mrr)
                for name, found in zip(names, (both.current, both.candidate), strict=True)
            ],
            title=f"{verdict.questions} questions, each held out once",
        )
    outcome = f"ships as version {verdict.version}" if verdict.shipped else "is kept out"
    typer.echo(f"The new adapter {outcome}: {verdict.reason}\n")
