"""The rows of ``eval --adapters``: who is asked what, and against what it is compared."""

import json

import pytest

from seedmem.encode import load_encoder
from seedmem.evaluate.corpus import Corpus, corpora
from seedmem.evaluate.datasets import parse_lines
from seedmem.learn.config import FitConfig
from seedmem.retrieve import shipped

pytest.importorskip("torch", reason="needs the extra learn")
pytest.importorskip("pytrec_eval", reason="needs the extra eval")

from seedmem.evaluate.adapters import SCORES, adapter_rows, label_free

QUICK = FitConfig(members=1, hidden=8, epochs=3)
ENCODER = load_encoder("hash:32")
THINGS = ("violin", "kitten", "boat", "garden", "lamp", "bicycle", "piano", "kettle", "map", "drum")


def _corpora(questions: int) -> list[Corpus]:
    lines: list[dict[str, object]] = []
    for number, thing in enumerate(THINGS):
        text = f"Ada: I put the {thing} into the old house by the river"
        memory = {"kind": "memory", "user_id": "ada", "id": f"m{number}", "session": 1}
        lines.append(memory | {"text": text, "speaker": "Ada"})
    for number, thing in enumerate(THINGS[:questions]):
        query = {"kind": "query", "user_id": "ada", "id": f"q{number}", "category": "where"}
        lines.append(query | {"text": f"Where is the {thing}?", "gold": [f"m{number}"]})
    gone = {"kind": "query", "user_id": "ada", "id": "gone", "text": "Who?", "gold": ["m99"]}
    items = list(parse_lines([json.dumps(line).encode() for line in [*lines, gone]]))
    return corpora({"own": items}, ENCODER)


def test_every_score_is_tried_with_every_kind_of_adapter():
    asked = _corpora(10)

    rows = adapter_rows(asked, label_free(asked, ENCODER), {}, shipped(), config=QUICK)

    everything = {row["method"]: row for row in rows if row["stratum"] == "all"}
    assert set(everything) == {f"{s}+{k}" for s in SCORES for k in ("adapter", "label-free")}
    assert {row["vs"]["baseline"] for row in rows if row["n"]} == set(SCORES)
    assert {row["stratum"] for row in rows} == {"all", "vague", "user:ada"}
    assert everything["dense+label-free"]["n"] == 10  # the question whose gold is gone is not asked
    assert everything["dense+adapter"]["n"] > 5  # the halves of five seeds


def test_a_user_with_too_few_questions_is_only_tried_without_labels():
    asked = _corpora(2)

    rows = adapter_rows(asked, label_free(asked, ENCODER), {}, shipped(), config=QUICK)

    assert {row["method"] for row in rows} == {f"{score}+label-free" for score in SCORES}
