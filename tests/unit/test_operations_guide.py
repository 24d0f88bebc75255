"""What the operations guide quotes is what the code says."""

import re

from k8s_rendered import ROOT

GUIDE = (ROOT / "docs/operations.md").read_text()
# String literals that go on in the next line are one.
SOURCES = re.sub(
    r'"\s*\n\s*f?"', "", "\n".join(p.read_text() for p in sorted(ROOT.glob("streams/**/*.py")))
)


def test_every_last_line_in_the_failure_table_is_one_that_workers_print():
    rows = [row.split(" | ")[0] for row in GUIDE.splitlines() if row.startswith("| pod ends:")]
    quoted = [
        part for row in rows for span in re.findall("`(.+?)`", row) for part in span.split("…")
    ]
    known = [part.strip() for part in quoted if part.strip()]

    assert len(rows) >= 9
    assert [part for part in known if part not in SOURCES] == []


def test_every_file_that_is_named_is_there():
    named = set(re.findall(r"`?\b((?:k8s|docs|scripts)/[\w./-]+\w)", GUIDE))

    assert len(named) >= 5
    assert [name for name in named if not (ROOT / name).exists()] == []
