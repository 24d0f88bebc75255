"""The deployment is what its tools accept: Kubernetes, KEDA, Strimzi, the Dockerfile's linter."""

import subprocess

import jsonschema
import kubernetes_validate
import pytest
import yaml
from cloudcoil.models.keda.v1alpha1 import ScaledObject, TriggerAuthentication
from k8s_rendered import DIRECTORIES, ROOT, of_kind, program, rendered

from streams.local import tools

KUBERNETES = ["1.31", "1.37"]  # the oldest and newest that we say we run on
ALL = [*DIRECTORIES, "base with hpa"]
FOREIGN = {"keda.sh", "kafka.strimzi.io"}
STRIMZI = "io.fabric8:crd-generator-cli:7.3.1+io.strimzi:api:0.50.0"


@pytest.fixture(scope="session")
def kafka_topic_schema(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    """The schema of a KafkaTopic, made from the classes of Strimzi's released jar."""
    import jgo
    from jgo.config import GlobalSettings

    jars = jgo.build(STRIMZI, repositories=GlobalSettings.load().repositories).path
    out = tmp_path_factory.mktemp("crd")
    command = [
        *(tools.java(), "-cp", f"{jars}/jars/*:{jars}/modules/*"),
        *("io.fabric8.crd.generator.cli.CRDGeneratorCLI", "--output-dir", out),
        "io.strimzi.api.kafka.model.topic.KafkaTopic",
    ]
    subprocess.run(command, check=True, capture_output=True, timeout=60)
    [file] = out.iterdir()
    [version] = yaml.safe_load(file.read_text())["spec"]["versions"]
    assert version["name"] == "v1"
    spec = version["schema"]["openAPIV3Schema"]["properties"]["spec"]
    spec["properties"].pop("additionalProperties")  # how its Java takes what it does not know
    spec["properties"]["config"]["additionalProperties"] = {"type": ["string", "integer"]}
    return {**spec, "additionalProperties": False}


@pytest.mark.parametrize("version", KUBERNETES)
@pytest.mark.parametrize("name", ALL)
def test_each_manifest_fits_the_schemas_of_kubernetes(name, version, tmp_path_factory):
    documents = rendered(name, tmp_path_factory)

    for document in documents:
        if document["apiVersion"].partition("/")[0] not in FOREIGN:
            kubernetes_validate.validate(document, version, strict=True)


@pytest.mark.parametrize("model", [ScaledObject, TriggerAuthentication])
def test_what_is_for_keda_fits_its_model(model, tmp_path_factory):
    documents = of_kind(rendered("overlays/production", tmp_path_factory), model.__name__)

    understood = [model.model_validate(document) for document in documents]

    # The model leaves out what it does not know.
    plain = [m.model_dump(mode="json", by_alias=True, exclude_unset=True) for m in understood]
    assert plain == documents


def test_each_topic_fits_the_schema_of_strimzi(kafka_topic_schema, tmp_path_factory):
    for topic in of_kind(rendered("topics", tmp_path_factory), "KafkaTopic"):
        assert topic["apiVersion"] == "kafka.strimzi.io/v1"
        jsonschema.validate(topic["spec"], kafka_topic_schema)


def test_the_linter_has_nothing_to_say_of_the_dockerfile():
    hadolint = program("hadolint", "it is in requirements/test.txt")

    linted = subprocess.run(
        [hadolint, ROOT / "Dockerfile"], capture_output=True, text=True, check=False
    )

    assert (linted.returncode, linted.stdout, linted.stderr) == (0, "", "")
