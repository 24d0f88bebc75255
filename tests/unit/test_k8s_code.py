"""The deployment names what the code has: settings, ports, probes, topics, groups, time-outs."""

import tomllib
from urllib.request import urlopen

import pytest
import yaml
from k8s_rendered import (
    DIRECTORIES,
    ROOT,
    SECRETS,
    containers,
    environment,
    of_kind,
    pods,
    rendered,
    workers,
)
from kubernetes_quantity import in_bytes, in_cpus
from typer.testing import CliRunner

from streams.app import SHUTDOWN
from streams.cli import app as command_line
from streams.faustapp import make_app
from streams.health import HealthServer
from streams.roles import ROLES
from streams.settings import Settings
from streams.topics import Topics

OVERLAYS = ["overlays/dev", "overlays/production", "base with hpa"]
NATIVE_THREADS = ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"]
RESIDENT = 1.35  # bytes that a process takes for each byte of hot users, measured
BESIDE = 2**29  # bytes: interpreter, model, buffers
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]


@pytest.fixture(params=OVERLAYS)
def documents(request, tmp_path_factory):
    return rendered(request.param, tmp_path_factory)


def settings_of(container, documents):
    """Return the settings that a container will have; raises where a name is no setting."""
    return Settings.from_env(environment(container, documents))


def test_every_variable_is_a_setting_and_every_role_is_one(documents):
    found = {s.role for s in (settings_of(c, documents) for c in containers(documents))}

    assert found == set(ROLES)


def test_every_variable_of_compose_is_a_setting():
    services = yaml.safe_load((ROOT / "compose.yaml").read_text())["services"]
    ours = [s for s in services.values() if s["image"].startswith("seedmem")]

    settings = [Settings.from_env(service["environment"]) for service in ours]

    assert {s["image"].partition(":")[2] for s in ours} == {VERSION}
    assert {s.role for s in settings} == set(ROLES)
    assert {s.health_port for s in settings} == {8080}


def test_every_container_runs_a_command_that_exists(documents):
    commands = {command.callback.__name__ for command in command_line.registered_commands}

    started = {tuple(container["args"]) for container in containers(documents)}

    assert started <= {("worker",), ("topics", "create")}
    assert "worker" in commands


def test_health_is_served_where_kubernetes_and_prometheus_look(documents):
    for name, pod in workers(documents).items():
        [container] = pod["containers"]
        settings = settings_of(container, documents)
        [workload] = [
            d for d in documents if d["metadata"]["name"] == name and "template" in d["spec"]
        ]
        noted = workload["spec"]["template"]["metadata"]["annotations"]

        assert container["ports"] == [{"name": "health", "containerPort": settings.health_port}]
        assert settings.health_host == "0.0.0.0"
        assert noted["prometheus.io/port"] == str(settings.health_port)
        assert {probe["httpGet"]["port"] for probe in probes(container).values()} == {"health"}


def test_every_probe_and_the_scraper_ask_for_a_path_that_is_served(documents):
    asked = {
        probe["httpGet"]["path"]
        for pod in workers(documents).values()
        for probe in probes(pod["containers"][0]).values()
    }
    server = HealthServer("127.0.0.1", 0, live=lambda: None, ready=lambda: None)
    server.start()

    answers = {
        path: urlopen(f"http://127.0.0.1:{server.port}{path}").status
        for path in [*asked, "/metrics"]
    }
    server.close()

    assert asked == {"/live", "/ready"}
    assert set(answers.values()) == {200}


def probes(container):
    kinds = ("startupProbe", "livenessProbe", "readinessProbe")
    return {kind: container[kind] for kind in kinds}


def test_a_pod_may_take_longer_to_leave_than_a_worker_does(documents):
    for pod in workers(documents).values():
        assert pod["terminationGracePeriodSeconds"] >= SHUTDOWN + 5


def test_serve_pods_are_static_members_by_their_name_and_others_are_not(documents):
    members = {
        name: [v for v in pod["containers"][0]["env"] if v["name"] == "SEEDMEM_INSTANCE_ID"]
        for name, pod in workers(documents).items()
    }

    assert members["seedmem-extract"] == members["seedmem-retrain"] == []
    [by_name] = members["seedmem-serve"]
    assert by_name["valueFrom"] == {"fieldRef": {"fieldPath": "metadata.name"}}


def test_there_are_no_more_pods_than_partitions(documents):
    [serve] = of_kind(documents, "StatefulSet")[-1:]
    [container] = serve["spec"]["template"]["spec"]["containers"]
    partitions = settings_of(container, documents).partitions

    assert serve["metadata"]["name"] == "seedmem-serve"
    assert serve["spec"]["replicas"] <= partitions
    for scaled in of_kind(documents, "ScaledObject"):
        assert scaled["spec"]["maxReplicaCount"] == partitions
    for scaler in of_kind(documents, "HorizontalPodAutoscaler"):
        assert scaler["spec"]["maxReplicas"] == partitions


def test_threads_and_memory_stay_below_the_limits(documents):
    for pod in workers(documents).values():
        [container] = pod["containers"]
        variables, settings = environment(container, documents), settings_of(container, documents)
        limits = container["resources"]["limits"]

        cpus = in_cpus(limits["cpu"])
        assert settings.threads <= cpus
        assert all(int(variables[name]) <= cpus for name in NATIVE_THREADS)
        if settings.role == "serve":
            assert in_bytes(limits["memory"]) >= RESIDENT * settings.hot_bytes + BESIDE


def test_pods_are_closed_in(documents):
    for pod in pods(documents).values():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        for container in [*pod["containers"], *pod.get("initContainers", ())]:
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
            assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
    for container in containers(documents):
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        written = [mount for mount in container["volumeMounts"] if not mount.get("readOnly")]
        assert written == [{"name": "tmp", "mountPath": "/tmp"}]


def test_no_service_puts_variables_into_pods_that_take_them_for_settings(documents):
    for name, pod in pods(documents).items():
        assert pod.get("enableServiceLinks") is False or name == "redis"


def test_the_network_is_open_where_kafka_and_redis_are(documents):
    [policy] = of_kind(documents, "NetworkPolicy")
    open_ports = {port["port"] for rule in policy["spec"]["egress"] for port in rule["ports"]}

    for container in containers(documents):
        settings = settings_of(container, documents)
        kafka = {int(server.rpartition(":")[2]) for server in settings.kafka.split(",")}
        assert kafka | {6379, 6380, 53} <= open_ports


def test_production_talks_tls_to_kafka_with_a_certificate_that_is_mounted(tmp_path_factory):
    documents = rendered("overlays/production", tmp_path_factory)

    for pod in workers(documents).values():
        [container] = pod["containers"]
        settings = settings_of(container, documents)
        [mount] = [m for m in container["volumeMounts"] if m["name"] == "kafka-ca"]
        assert settings.kafka_tls
        assert settings.kafka_ca == f"{mount['mountPath']}/ca.crt"


def test_the_scaler_logs_in_as_the_workers_do(tmp_path_factory):
    documents = rendered("overlays/production", tmp_path_factory)
    [login] = of_kind(documents, "TriggerAuthentication")
    settings = settings_of(next(containers(documents)), documents)

    given = {ref["parameter"]: ref["key"] for ref in login["spec"]["secretTargetRef"]}

    assert {given["username"], given["password"]} <= set(SECRETS)
    assert settings.kafka_ca.endswith(given["ca"])
    assert settings.kafka_mechanism == "SCRAM-SHA-512"
    for scaled in of_kind(documents, "ScaledObject"):
        [trigger] = scaled["spec"]["triggers"]
        assert trigger["authenticationRef"]["name"] == login["metadata"]["name"]
        assert trigger["metadata"]["sasl"] == "scram_sha512"
        assert trigger["metadata"]["tls"] == "enable"


@pytest.mark.parametrize(
    ("role", "read"), [("extract", "memory_created"), ("retrain", "adapter_retrain")]
)
def test_a_role_is_scaled_on_what_its_own_group_has_to_read(role, read, tmp_path_factory):
    documents = rendered("overlays/production", tmp_path_factory)
    [scaled] = [
        s
        for s in of_kind(documents, "ScaledObject")
        if s["spec"]["scaleTargetRef"]["name"] == f"seedmem-{role}"
    ]
    settings = settings_of(workers(documents)[f"seedmem-{role}"]["containers"][0], documents)
    group = Settings(role=settings.role, namespace=settings.namespace)

    [trigger] = scaled["spec"]["triggers"]

    assert settings.role == role
    assert trigger["metadata"]["consumerGroup"] == make_app(group).conf.id
    assert trigger["metadata"]["topic"] == getattr(Topics(settings.namespace), read)
    assert trigger["metadata"]["bootstrapServers"] == settings.kafka


def test_only_retraining_runs_the_image_with_torch(documents):
    images = {
        name: pod["containers"][0]["image"].rpartition("/")[2].partition(":")[0]
        for name, pod in workers(documents).items()
    }

    assert images == {
        "seedmem-serve": "seedmem",
        "seedmem-extract": "seedmem",
        "seedmem-retrain": "seedmem-retrain",
    }


def test_every_topic_is_made_with_the_partitions_that_workers_want(tmp_path_factory):
    topics = of_kind(rendered("topics", tmp_path_factory), "KafkaTopic")
    production = rendered("overlays/production", tmp_path_factory)
    settings = settings_of(next(containers(production)), production)

    assert {topic["metadata"]["name"] for topic in topics} == set(Topics(settings.namespace).all)
    assert {topic["spec"]["partitions"] for topic in topics} == {settings.partitions}
    assert {topic["spec"]["config"]["cleanup.policy"] for topic in topics} == {"delete"}


@pytest.mark.parametrize("name", DIRECTORIES)
def test_the_image_is_that_of_this_version(name, tmp_path_factory):
    tags = {
        container["image"].rpartition(":")[2]
        for container in containers(rendered(name, tmp_path_factory))
    }

    assert tags <= {VERSION}


def test_what_is_due_is_asked_for_nightly_by_a_pod_like_the_workers(documents):
    [job] = of_kind(documents, "CronJob")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    worker = next(iter(workers(documents).values()))
    [container], [working] = pod["containers"], worker["containers"]

    started = CliRunner().invoke(command_line, [*container["args"], "--help"])

    assert started.exit_code == 0
    assert "--due" in container["args"]
    assert environment(container, documents).keys() <= environment(working, documents).keys()
    assert settings_of(container, documents).kafka == settings_of(working, documents).kafka
    assert pod["enableServiceLinks"] is False
    assert pod["securityContext"] == worker["securityContext"]
    assert container["securityContext"] == working["securityContext"]
    assert container["volumeMounts"] == working["volumeMounts"]
