"""An evaluation from items to rows, on a data set small enough to know its answers."""

import itertools
import json
from pathlib import Path

import numpy as np
import pytest

from seedmem.encode import load_encoder
from seedmem.errors import DataError
from seedmem.evaluate import report
from seedmem.evaluate.cache import EmbeddingCache
from seedmem.evaluate.corpus import corpora
from seedmem.evaluate.datasets import MemoryItem, QueryItem, SubjectItem, parse_lines
from seedmem.evaluate.graph import pagerank
from seedmem.evaluate.learned import learn
from seedmem.evaluate.methods import METHODS
from seedmem.evaluate.run import ask_all
from seedmem.evaluate.sources import read, with_subjects
from seedmem.evaluate.vague import is_vague
from seedmem.extract import Extracted
from seedmem.retrieve import retrieve, shipped

SHARED = Path(__file__).parents[3] / "shared" / "data"

THINGS = ("violin", "kitten", "bicycle", "garden", "lantern", "harbour", "orchard", "kettle")


def items(users=3):
    """Yield users who each say something on eight things and are asked about it."""
    for user in range(users):
        name = f"u{user}"
        for number, thing in enumerate(THINGS):
            text = f"My {thing} is number {number} of all that I keep here at home"
            yield MemoryItem(
                user_id=name, id=thing, text=text, session=f"s{number}", speaker="user"
            )
            question = f"Where do I keep my {thing}?"
            yield QueryItem(user_id=name, id=f"{name}-{thing}", text=question, gold=(thing,))
        yield QueryItem(
            user_id=name, id=f"{name}-no", text="Who is Zoltan?", gold=(), category="adversarial"
        )


@pytest.fixture(scope="module")
def encoder():
    return load_encoder("hash:32")


@pytest.fixture
def small(encoder):
    return corpora({"small": list(items())}, encoder)


def ask(made, methods=METHODS, fitted=None):
    ticks = itertools.count()
    return ask_all(made, methods, fitted or {}, shipped(), clock=lambda: next(ticks) / 1000)


def row_of(rows, **wanted):
    (row,) = [row for row in rows if all(row[k] == v for k, v in wanted.items())]
    return row


def test_every_stratum_has_a_row_for_every_method(small):
    pytest.importorskip("pytrec_eval", reason="needs the extra eval")

    rows = report.rows(ask(small), [], baseline="dense+bm25")

    assert {row["method"] for row in rows} == set(METHODS)
    assert {row["stratum"] for row in rows} == {
        "all",
        "vague",
        "none",
        "user:u0",
        "user:u1",
        "user:u2",
    }
    full = row_of(rows, stratum="all", method="full")
    assert (full["n"], full["split"], full["recall@1"]) == (24, "frozen", 1.0)
    assert full["p50_ms"] == pytest.approx(1.0)
    assert full["vs"]["baseline"] == "dense+bm25"
    assert row_of(rows, stratum="all", method="dense")["split"] == "none"
    assert row_of(rows, stratum="vague", method="full")["n"] == 0


def test_the_evaluated_ranking_is_the_served_one(small):
    answered = ask(small, {"full": METHODS["full"]})

    state = small[0].users[0].state
    for asked in answered[:8]:
        served = retrieve(state, asked.case.query)
        assert asked.outcomes["full"].hits == served.hits
        assert asked.outcomes["full"].confidence == served.confidence


def test_weights_that_are_learned_without_a_user_rank_its_questions(small):
    pytest.importorskip("scipy", reason="needs the extra eval")
    pytest.importorskip("pytrec_eval", reason="needs the extra eval")

    learned = learn(small)
    asked = ask(small, fitted=learned.held_out)
    rows = report.rows(asked, ["small"], baseline="bm25")
    (confidence,) = report.abstention(asked, method="full")

    assert sorted(learned.held_out) == ["small/u0", "small/u1", "small/u2"]
    full = row_of(rows, stratum="all", method="full")
    assert (full["split"], full["recall@1"]) == ("leave-one-user-out", 1.0)
    assert (confidence["answerable"], confidence["unanswerable"]) == (24, 3)
    assert confidence["auroc"] == 1.0
    assert confidence["curve"][0] == {"coverage": 1 / 27, "accuracy": 1.0}
    assert confidence["curve"][-1] == {"coverage": 1.0, "accuracy": 24 / 27}


def test_one_user_cannot_be_left_out(encoder):
    with pytest.raises(DataError, match="needs two users"):
        learn(corpora({"one": list(items(users=1))}, encoder))


def test_a_gold_memory_that_is_not_there_is_a_miss(encoder):
    pytest.importorskip("pytrec_eval", reason="needs the extra eval")
    lost = [
        MemoryItem(user_id="u", id="m", text="tea"),
        QueryItem(user_id="u", id="q", text="what tea?", gold=("gone",)),
    ]

    rows = report.rows(ask(corpora({"lost": lost}, encoder)), [], baseline="dense")

    row = row_of(rows, stratum="all", method="full")
    assert (row["n"], row["recall@10"], row["mrr"]) == (1, 0.0, 0.0)


def test_a_user_who_remembers_nothing_is_asked_without_harm(encoder):
    nothing = [QueryItem(user_id="u", id="q", text="what tea?", gold=("m",))]

    (asked,) = ask(corpora({"empty": nothing}, encoder))

    assert {outcome.ranking for outcome in asked.outcomes.values()} == {()}


def test_files_without_questions_join_by_user(encoder):
    subjects = [SubjectItem(user_id="u0", id="s", name="violin", memory_ids=("violin",))]

    (made,) = corpora({"small": list(items()), "subjects": subjects}, encoder)

    assert [len(user.state.subjects) for user in made.users] == [1, 0, 0]


def test_what_two_runs_changed_is_found_question_by_question(small):
    pytest.importorskip("pytrec_eval", reason="needs the extra eval")
    before = report.questions(ask(small, {"full": METHODS["full"]}))
    after = json.loads(json.dumps(before))
    after[0]["gold"] = {"violin": 4}

    (found,) = report.compare(before, after)

    assert (found["n"], found["difference"]["recall@1"]["lost"]) == (24, 1)
    assert [(c["id"], c["from"], c["to"]) for c in found["changed"]] == [("u0-violin", 1, 4)]
    assert found["to"]["mrr"] == pytest.approx((23 + 1 / 4) / 24)


def test_a_question_without_a_shared_content_word_is_vague():
    assert is_vague("What did Ada buy?", ["Ada: We got a boat."])
    assert not is_vague("What did Ada buy?", ["Ada: We bought it.", "Ada: buying is fun"])
    assert not is_vague("Where are the dogs?", ["my dog"])


@pytest.mark.skipif(not SHARED.exists(), reason="the shared LoCoMo data is not here")
def test_221_questions_of_locomo_are_vague():
    everything = list(parse_lines((SHARED / "locomo.jsonl").read_bytes().split(b"\n")))
    told = {(i.user_id, i.id): i.text for i in everything if isinstance(i, MemoryItem)}
    asked = [i for i in everything if isinstance(i, QueryItem) and i.category != "adversarial"]

    vague = [q for q in asked if is_vague(q.text, [told[q.user_id, g] for g in q.gold])]

    assert (len(asked), len(vague)) == (1536, 221)


def test_a_walk_from_the_subjects_reaches_what_they_link(encoder):
    made = [
        MemoryItem(user_id="u", id="a", text="first"),
        MemoryItem(user_id="u", id="b", text="second"),
        MemoryItem(user_id="u", id="c", text="third"),
        SubjectItem(user_id="u", id="s", name="violin", memory_ids=("a", "b")),
        QueryItem(user_id="u", id="q", text="violin", gold=("a",)),
    ]
    ((user,),) = (corpus.users for corpus in corpora({"walk": made}, encoder))

    visits = pagerank(user.state, encoder.encode(["violin"])[0])

    # s → a, b with ½ each, and back: p(a) = ¼ p(s), p(s) = ½ + ½ (p(a) + p(b)), so p(s) = 2/3
    assert visits == pytest.approx([1 / 6, 1 / 6, 0.0], abs=1e-6)


def test_embeddings_are_computed_once(tmp_path, encoder):
    asked = []

    class Counting:
        space = encoder.space

        def encode(self, texts):
            asked.extend(texts)
            return encoder.encode(texts)

    for _ in range(2):
        with EmbeddingCache(Counting(), tmp_path / "deep" / "cache.sqlite") as cache:
            found = cache.encode(["tea", "bread", "tea"])

    assert sorted(asked) == ["bread", "tea"]
    assert np.array_equal(found, encoder.encode(["tea", "bread", "tea"]))


def test_files_are_read_by_their_form_and_subjects_beside_them_join(tmp_path):
    published = [
        {
            "sample_id": "c",
            "conversation": {
                "session_1": [{"speaker": "Ada", "dia_id": "D1:1", "text": "Hi"}],
                "session_1_date_time": "1:56 pm on 8 May, 2023",
            },
            "qa": [{"question": "Who?", "answer": "Ada", "evidence": ["D1:1"], "category": 4}],
        }
    ]
    (tmp_path / "locomo10.json").write_text(json.dumps(published))
    line = {"kind": "memory", "user_id": "u", "id": "m", "text": "tea"}
    (tmp_path / "own.jsonl").write_text(json.dumps(line) + "\n")
    beside = {"kind": "subject", "user_id": "u", "id": "s", "text": "tea", "memories": ["m"]}
    (tmp_path / "own_subjects.jsonl").write_text(json.dumps(beside))

    found = read([tmp_path / "locomo10.json", tmp_path / "own.jsonl"])

    assert {name: len(items) for name, items in found.items()} == {
        "locomo": 2,
        "own": 1,
        "own_subjects": 1,
    }


def test_a_broken_file_is_named(tmp_path):
    (tmp_path / "bad.jsonl").write_text("{")

    with pytest.raises(DataError, match=r"bad\.jsonl: line 1"):
        read([tmp_path / "bad.jsonl"])


def test_subjects_of_one_name_are_extracted_as_one():
    class Words:
        def extract(self, texts):
            return [tuple(Extracted(name=w, type=None) for w in text.split()) for text in texts]

    memories = [
        MemoryItem(user_id="u", id="a", text="Tea Cake"),
        MemoryItem(user_id="u", id="b", text="tea"),
    ]

    found = [i for i in with_subjects(memories, Words()) if isinstance(i, SubjectItem)]

    assert [(s.name, s.memory_ids) for s in found] == [("Tea", ("a", "b")), ("Cake", ("a",))]


def test_a_chart_is_drawn(tmp_path, small):
    pytest.importorskip("matplotlib", reason="needs the extra eval")
    from seedmem.evaluate.chart import draw

    draw(report.rows(ask(small), [], baseline="dense"), tmp_path / "chart.png")

    assert (tmp_path / "chart.png").read_bytes().startswith(b"\x89PNG")
