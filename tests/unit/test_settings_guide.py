"""The settings in the operations guide are those of the code."""

import runpy

import msgspec
from k8s_rendered import ROOT

from streams.settings import Settings

SCRIPT = runpy.run_path(str(ROOT / "scripts/settings-table"))


def test_the_table_in_the_guide_is_what_the_code_says():
    guide = (ROOT / "docs/operations.md").read_text()

    assert SCRIPT["updated"](guide) == guide, "run scripts/settings-table"


def test_every_setting_has_a_row_with_a_meaning():
    rows = [row.split(" | ") for row in SCRIPT["table"]().splitlines()[2:]]

    assert [row[0] for row in rows] == [
        f"| `SEEDMEM_{field.name.upper()}`" for field in msgspec.structs.fields(Settings)
    ]
    assert all(len(row[2]) > len("some words") for row in rows)
