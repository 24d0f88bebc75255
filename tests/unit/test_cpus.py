"""F45: threads stay within what the control group grants, and native libraries to themselves."""

import os
import subprocess
import sys

import pytest

from streams.cpus import available_cpus
from streams.settings import tame_native_libraries

OWNED = len(os.sched_getaffinity(0))


@pytest.mark.parametrize(
    ("quota", "expected"),
    [
        ("100000 100000", 1),
        ("150000 100000", 1),
        ("20000 100000", 1),
        (f"{OWNED}00000 100000", OWNED),
        ("99900000 100000", OWNED),
        ("max 100000", OWNED),
    ],
)
def test_a_quota_of_version_2_counts_in_whole_cpus(tmp_path, quota, expected):
    (tmp_path / "cpu.max").write_text(f"{quota}\n")

    assert available_cpus(tmp_path) == expected


@pytest.mark.parametrize(("quota", "expected"), [("100000", 1), ("-1", OWNED)])
def test_a_quota_of_version_1_counts_too(tmp_path, quota, expected):
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text(f"{quota}\n")
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")

    assert available_cpus(tmp_path) == expected


def test_without_control_groups_the_affinity_counts(tmp_path):
    assert available_cpus(tmp_path) == OWNED


def test_numpy_starts_no_threads_of_its_own_once_limited():
    program = (
        "import os; from streams.settings import tame_native_libraries; tame_native_libraries(1); "
        "import numpy; a = numpy.ones((512, 512)); a @ a; print(len(os.listdir('/proc/self/task')))"
    )
    unset = {k: v for k, v in os.environ.items() if not k.endswith("_NUM_THREADS")}

    ran = subprocess.run(
        [sys.executable, "-c", program], env=unset, capture_output=True, text=True, check=True
    )

    assert ran.stdout.strip() == "1"


def test_what_the_operator_set_for_native_libraries_stays(monkeypatch):
    monkeypatch.setattr(os, "environ", {"OMP_NUM_THREADS": "3"})

    tame_native_libraries(1)

    assert os.environ["OMP_NUM_THREADS"] == "3"
    assert os.environ["OPENBLAS_NUM_THREADS"] == "1"


def test_onnxruntime_reports_to_nobody(monkeypatch):
    monkeypatch.setattr(os, "environ", {})

    tame_native_libraries(1)

    assert os.environ["ORT_DISABLE_TELEMETRY"] == "1"
