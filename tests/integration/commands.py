"""The command line, typed in a process of its own or, quicker, in this one."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from streams.cli import main


class Finished(NamedTuple):
    """What a command left."""

    returncode: int
    stdout: str
    stderr: str


Run = Callable[..., Finished]


def in_process(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """Return what runs ``seedmem`` here, by its own entry point: a process takes seconds."""

    def run(*arguments: str, directory: Path, variables: dict[str, str]) -> Finished:
        capsys.readouterr()
        with monkeypatch.context() as patch:
            patch.chdir(directory)
            patch.setattr(sys, "argv", ["seedmem", *arguments])
            for name, value in variables.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as ended:
                main()
        printed = capsys.readouterr()
        return Finished(int(ended.value.code or 0), printed.out, printed.err)

    return run


def typed(*arguments: str, directory: Path, variables: dict[str, str]) -> Finished:
    """Run ``seedmem`` in a process of its own."""
    ran = subprocess.run(
        [sys.executable, "-m", "streams.cli", *arguments],
        cwd=directory,
        env=os.environ | variables,
        capture_output=True,
        text=True,
        check=False,
    )
    return Finished(ran.returncode, ran.stdout, ran.stderr)


def printed(result: Finished) -> Any:
    """Return the JSON that a command printed, which must be all that it printed."""
    assert result.returncode == 0, result.stderr
    assert len(result.stdout.splitlines()) == 1
    return json.loads(result.stdout)
