"""Every part of the benchmarks runs, on sizes at which its figures mean nothing."""

from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from benchmarks.__main__ import PARTS, main
from benchmarks.bench import QUICK, Bench
from benchmarks.data import talk

IN_PROCESS = ("query", "growth")


@pytest.fixture
def bench(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Bench]:
    kafka = request.getfixturevalue("kafka").bootstrap
    redis = request.getfixturevalue("redis_server").url
    with Bench(QUICK, talk(tmp_path / "none"), kafka=kafka, redis=redis) as made:
        yield made


def test_the_command_prints_tables_and_writes_figures_and_charts(tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")  # the command sets it where it is not set
    figures, charts, none = tmp_path / "figures.json", tmp_path / "charts", tmp_path / "none"
    options = ["--json", str(figures), "--chart", str(charts), "--data", str(none)]

    main([*IN_PROCESS, "--quick", *options])

    printed = capsys.readouterr().out
    assert "### A question in process" in printed
    assert "qdrant-edge, dense + keyword" in printed
    assert '"name": "growth"' in figures.read_text()
    assert (charts / "growth.png").read_bytes().startswith(b"\x89PNG")


def test_sizes_in_memory_and_on_redis_are_measured(bench):
    stored, held, cold = import_module("benchmarks.storage").measure(bench)

    bytes_of = dict(stored.rows)
    assert bytes_of["a memory among many"] > bytes_of["the vector in it (float16)"] == 768
    assert [row[0] for row in held.rows] == [row[0] for row in cold.rows] + ["10 memories"]


@pytest.mark.slow
@pytest.mark.timeout(400)  # the fits run in eight processes, each of which imports torch
@pytest.mark.parametrize("part", [part for part in PARTS if part not in (*IN_PROCESS, "storage")])
def test_a_part_with_workers_runs(part, bench):
    results = import_module(f"benchmarks.{part}").measure(bench)

    assert all(result.rows for result in results)
