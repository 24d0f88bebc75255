"""Tracing where OpenTelemetry is not installed."""

import sys

import pytest

from streams import tracing
from streams.errors import MissingToolError
from streams.settings import Settings


@pytest.fixture(autouse=True)
def not_installed(monkeypatch):
    monkeypatch.setattr(tracing, "_tracer", None)
    monkeypatch.setitem(sys.modules, "opentelemetry", None)


def test_the_setting_without_the_package_is_one_clear_line():
    with pytest.raises(
        MissingToolError, match=r"SEEDMEM_TRACING .*pip install 'seedmem\[tracing]'"
    ):
        tracing.start(Settings(tracing=True), "seedmem-serve")


def test_without_the_setting_the_package_is_not_needed():
    tracing.start(Settings(), "seedmem-serve")

    with tracing.asking("ada"), tracing.sending("query", b"ada") as headers, tracing.processing([]):
        tracing.note(status="ok")
    tracing.flush()
    assert headers == []
