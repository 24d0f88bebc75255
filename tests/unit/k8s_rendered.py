"""What kustomize makes of ``k8s/``, as plain documents."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
DIRECTORIES = ["overlays/dev", "overlays/production", "topics"]
WITH_HPA = """
resources: [{base}]
components: [{hpa}]
configMapGenerator: [{{name: seedmem, behavior: merge, literals: [SEEDMEM_KAFKA=kafka:9092]}}]
"""

SECRETS = {
    "SEEDMEM_REDIS": "rediss://:password@redis:6380/0",
    "SEEDMEM_KAFKA_USER": "seedmem",
    "SEEDMEM_KAFKA_PASSWORD": "password",
}

Document = dict[str, Any]


def program(name: str, how: str) -> str:
    """Return the path of a program; without it the test is skipped, in CI it fails."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    if (found := shutil.which(name, path=path)) is None:
        message = f"needs {name}: {how}"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(message)
    return str(found)


@cache
def render(directory: Path) -> list[Document]:
    """Return the documents of one kustomization."""
    kustomize = program("kustomize", "run scripts/deploy-tools")
    built = subprocess.run(
        [kustomize, "build", directory], capture_output=True, text=True, check=False
    )
    assert built.returncode == 0, built.stderr
    return [document for document in yaml.safe_load_all(built.stdout) if document]


def rendered(name: str, tmp_path_factory: pytest.TempPathFactory) -> list[Document]:
    """Return the documents of one of ``DIRECTORIES``, or of the base with the plain HPA."""
    if name != "base with hpa":
        return render(ROOT / "k8s" / name)
    directory = tmp_path_factory.mktemp("hpa").resolve()
    parts = {
        "base": os.path.relpath(ROOT / "k8s/base", directory),
        "hpa": os.path.relpath(ROOT / "k8s/components/hpa", directory),
    }
    (directory / "kustomization.yaml").write_text(WITH_HPA.format(**parts))
    return render(directory)


def of_kind(documents: list[Document], *kinds: str) -> list[Document]:
    return [document for document in documents if document["kind"] in kinds]


def pods(documents: list[Document]) -> dict[str, Document]:
    """Return the pod specification of each workload, by its name."""
    workloads = of_kind(documents, "StatefulSet", "Deployment")
    return {w["metadata"]["name"]: w["spec"]["template"]["spec"] for w in workloads}


def workers(documents: list[Document]) -> dict[str, Document]:
    """Return those of ``pods`` that run this service."""
    return {n: pod for n, pod in pods(documents).items() if n.startswith("seedmem-")}


def environment(container: Document, documents: list[Document]) -> dict[str, str]:
    """Return the variables that a container will see, with invented values for what is secret."""
    maps = {d["metadata"]["name"]: d["data"] for d in of_kind(documents, "ConfigMap")}
    found: dict[str, str] = {}
    for source in container.get("envFrom", ()):
        if "configMapRef" in source:
            found |= maps[source["configMapRef"]["name"]]
        else:
            found |= SECRETS
    for variable in container.get("env", ()):
        found[variable["name"]] = variable.get("value", "invented")
    return found


def containers(documents: list[Document]) -> Iterator[Document]:
    """Yield every container that runs this service's image."""
    for pod in workers(documents).values():
        yield from (*pod["containers"], *pod.get("initContainers", ()))
