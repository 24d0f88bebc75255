"""Who may import what. The rooms are those of ARCHITECTURE.md; each rule is one line of a table."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILES = sorted(
    path.relative_to(ROOT)
    for package in ("seedmem", "streams")
    for path in ROOT.glob(f"{package}/**/*.py")
)

# What the core may not know: the service, its transports, the clock and the environment.
FORBIDDEN_IN_THE_CORE = {
    "aiokafka", "asyncio", "faust", "kafka", "logging", "msgspec", "os", "prometheus_client",
    "redis", "socket", "streams", "subprocess", "time", "typer",
}  # fmt: skip

# A library with one home: files that may import it, by the beginning of their path.
HOMES = {
    "torch": ("seedmem/learn/", "seedmem/associate/", "seedmem/encode/st.py"),
    "sentence_transformers": ("seedmem/encode/st.py",),
    "onnxruntime": ("seedmem/encode/onnx.py",),
    "spacy": ("seedmem/extract/",),
    "hnswlib": ("seedmem/user/",),
    "pytrec_eval": ("seedmem/evaluate/",),
    "scipy": ("seedmem/evaluate/",),
    "matplotlib": ("seedmem/evaluate/",),
    "redis": ("streams/store/",),
    "faust": (
        "streams/agents/",
        "streams/app.py",
        "streams/delivery.py",
        "streams/faustapp.py",
        "streams/fetching.py",
        "streams/intake.py",
        "streams/outbox.py",
        "streams/roles.py",
    ),
    "jgo": ("streams/local/",),
    "typer": ("streams/cli/",),
    "rich": ("streams/cli/",),
    "opentelemetry": ("streams/tracing.py",),
    "prometheus_client": ("streams/health.py", "streams/metrics.py"),
}

# Too heavy, or not there, where memories are only served.
NOT_LOADED_TO_SERVE = [
    "torch",
    "sentence_transformers",
    "spacy",
    "pytrec_eval",
    "scipy",
    "matplotlib",
    "jgo",
]


def imports(file: Path) -> Iterator[tuple[str, int]]:
    """Yield the top-level name of each import of a file, wherever it stands, and its line."""
    for node in ast.walk(ast.parse((ROOT / file).read_text())):
        if isinstance(node, ast.Import):
            yield from ((alias.name.partition(".")[0], node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file}:{node.lineno}: write absolute imports"
            yield (node.module or "").partition(".")[0], node.lineno


def test_the_core_knows_no_service_clock_or_environment():
    broken = [
        f"{file}:{line} imports {name}"
        for file in FILES
        if file.parts[0] == "seedmem"
        for name, line in imports(file)
        if name in FORBIDDEN_IN_THE_CORE
    ]

    assert broken == []


def test_the_core_never_asks_what_time_it_is():
    broken = [
        f"{file}:{node.lineno} calls {node.attr}"
        for file in FILES
        if file.parts[0] == "seedmem"
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.Attribute) and node.attr in {"now", "today", "utcnow"}
    ]

    assert broken == []


@pytest.mark.parametrize("library", HOMES)
def test_a_library_is_imported_in_its_home_only(library):
    broken = [
        f"{file}:{line}"
        for file in FILES
        if not file.as_posix().startswith(HOMES[library])
        for name, line in imports(file)
        if name == library
    ]

    assert broken == []


def test_only_the_settings_read_the_environment():
    readers = {
        file.as_posix()
        for file in FILES
        for node in ast.walk(ast.parse((ROOT / file).read_text()))
        if isinstance(node, ast.Attribute) and node.attr in {"environ", "environb", "getenv"}
    }

    assert readers == {"streams/settings.py"}


@pytest.mark.parametrize("module", ["streams.app", "streams.cli", "streams.client"])
def test_serving_loads_nothing_that_only_training_or_extraction_needs(module):
    loaded = subprocess.run(
        [sys.executable, "-c", f"import sys, {module}; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()

    assert module in loaded
    assert [name for name in NOT_LOADED_TO_SERVE if name in loaded] == []
