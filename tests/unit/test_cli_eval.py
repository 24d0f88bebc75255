"""``seedmem eval`` as a user types it, offline, with the encoder that is for tests."""

import json

import pytest
from typer.testing import CliRunner

from streams.cli.eval import app

pytest.importorskip("pytrec_eval", reason="needs the extra eval")
pytest.importorskip("scipy", reason="needs the extra eval")


@pytest.fixture
def file(tmp_path):
    lines = []
    for user in ("ada", "bob"):
        for number, thing in enumerate(("violin", "kitten", "boat")):
            memory = {"kind": "memory", "user_id": user, "id": f"m{number}", "session": number}
            lines.append(memory | {"text": f"My {thing} is in the house by the old river"})
            query = {"kind": "query", "user_id": user, "id": f"{user}{number}", "category": "where"}
            lines.append(query | {"text": f"Where is my {thing}?", "gold": [f"m{number}"]})
    path = tmp_path / "own.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def run(tmp_path, *words):
    cache = ["--encoder", "hash:32", "--cache", str(tmp_path / "cache")]
    return CliRunner().invoke(app, [*words, *cache])


def test_a_file_is_measured_by_every_method_and_written_whole(file, tmp_path):
    result = run(tmp_path, str(file), "--json", str(tmp_path / "run.json"), "--users")

    assert result.exit_code == 0, result.output
    assert "own: all" in result.output
    assert "own: user:ada" in result.output
    written = json.loads((tmp_path / "run.json").read_text())
    methods = ["dense", "bm25", "fusion", "dense+bm25", "ppr", "full"]
    assert [r["method"] for r in written["results"] if r["stratum"] == "all"] == methods
    assert len(written["questions"]) == 6 * len(methods)
    assert set(written["questions"][0]["hits"][0]) == {"memory_id", "score", "parts"}


def test_in_a_pipe_a_row_is_one_line(file, tmp_path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")

    result = run(tmp_path, str(file), "--method", "full", "--method", "dense+bm25")

    [heading] = {line for line in result.output.splitlines() if "method" in line and "R@1" in line}
    assert "won/lost@10" in heading
    assert all("…" not in line for line in result.output.splitlines())


def test_two_runs_are_compared(file, tmp_path):
    for name in ("a.json", "b.json"):
        run(tmp_path, str(file), "--method", "full", "--json", str(tmp_path / name))

    result = CliRunner().invoke(app, ["diff", str(tmp_path / "a.json"), str(tmp_path / "b.json")])

    assert result.exit_code == 0, result.output
    assert "+0.000" in result.output
    assert "0/0" in result.output


def test_fitted_weights_are_taken_up_and_their_data_is_left_out_by_user(file, tmp_path):
    weights = tmp_path / "weights.json"
    fitted = run(tmp_path, "fit", str(file), "--out", str(weights))
    result = run(tmp_path, str(file), "--weights", str(weights), "--method", "full")

    assert fitted.exit_code == 0, fitted.output
    assert json.loads(weights.read_text())["fitted_on"] == ["own"]
    assert "leave-one-user-out" in result.output


def test_an_unknown_method_is_refused_with_those_there_are(file, tmp_path):
    result = run(tmp_path, str(file), "--method", "luck")

    assert result.exit_code == 2
    assert "no method 'luck', want one of dense" in result.output
