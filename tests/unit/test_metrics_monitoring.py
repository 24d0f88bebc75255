"""The alert rules and the dashboard ask Prometheus for what workers have, in words it knows."""

import json
import re
import subprocess

import promql_parser
import pytest
import yaml
from k8s_rendered import ROOT, program
from prometheus_client import REGISTRY, CollectorRegistry, Metric

from streams import metrics
from streams.progress import Progress

MONITORING = ROOT / "k8s/monitoring"
RULES = [
    rule
    for group in yaml.safe_load((MONITORING / "alerts.yaml").read_text())["groups"]
    for rule in group["rules"]
]
PANELS = json.loads((MONITORING / "dashboard.json").read_text())["panels"]
EXPRESSIONS = [rule["expr"] for rule in RULES] + [
    target["expr"].replace("$__rate_interval", "1m") for p in PANELS for target in p["targets"]
]


class Nobody:
    """Hot users of a worker that has none."""

    nbytes = loads = evictions = failures = damaged = 0

    class caretaker:  # noqa: N801 - an attribute of a plain object
        builds = saves = 0

    def __len__(self) -> int:
        return 0


class Store:
    """The store of a worker that lost nothing."""

    losses = 0


def existing() -> set[str]:
    """Return the name of every series that a worker can have."""
    registry = CollectorRegistry()
    progress = Progress(committed=lambda _: 0, end=lambda _: 0)
    metrics.expose(progress, Nobody(), Store(), registry=registry)
    return {
        name
        for family in [*REGISTRY.collect(), *registry.collect()]
        if family.name.startswith("seedmem_")
        for name in series_of(family)
    }


def series_of(family: Metric) -> list[str]:
    endings = {"histogram": ["_bucket", "_sum", "_count"], "counter": ["_total"], "gauge": [""]}
    return [family.name + ending for ending in endings[family.type]]


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_each_expression_is_promql_over_series_that_exist(expression):
    promql_parser.parse(expression)

    asked = set(re.findall(r"\bseedmem_\w+", expression))

    assert asked or "process_" in expression
    assert asked <= existing()


def test_every_series_is_on_the_dashboard_or_in_a_rule():
    asked = set(re.findall(r"\bseedmem_\w+", " ".join(EXPRESSIONS)))

    shown = {name for name in existing() if not name.endswith(("_sum", "_count", "_bucket"))}

    assert shown <= asked


def test_every_rule_says_how_urgent_it_is_and_is_explained_in_the_guide():
    guide = (ROOT / "docs/operations.md").read_text()

    for rule in RULES:
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert rule["annotations"]["summary"]
        assert rule["alert"] in guide


def test_no_two_panels_lie_on_each_other():
    places = [tuple(panel["gridPos"].values()) for panel in PANELS]

    assert len(set(places)) == len(PANELS)
    assert len({panel["id"] for panel in PANELS}) == len(PANELS)


def test_promtool_finds_no_fault_in_the_rules():
    promtool = program("promtool", "run scripts/deploy-tools")

    checked = subprocess.run(
        [promtool, "check", "rules", "--lint=all", "--lint-fatal", MONITORING / "alerts.yaml"],
        capture_output=True,
        text=True,
        check=False,
    )

    assert checked.returncode == 0, checked.stdout + checked.stderr
