"""A Kafka that takes nobody without TLS and a login."""

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from kafka import KafkaAdminClient
from kafka.admin import ScramMechanism, UserScramCredentialUpsertion

from streams import topics
from streams.client import Client
from streams.local import tools
from streams.local.node import KafkaNode, Runtime
from streams.local.ports import kept_ports
from streams.local.process import DirectoryLock
from streams.settings import Settings

pytestmark = pytest.mark.skipif(
    shutil.which("openssl") is None, reason="needs openssl to make a certificate"
)

LISTENER = """
listeners=PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},OUTSIDE://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,OUTSIDE:SASL_SSL
listener.name.outside.ssl.keystore.type=PEM
listener.name.outside.ssl.keystore.location={certificate}
listener.name.outside.sasl.enabled.mechanisms=SCRAM-SHA-512
listener.name.outside.scram-sha-512.sasl.jaas.config=\
org.apache.kafka.common.security.scram.ScramLoginModule required;
"""


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of a key and a certificate for 127.0.0.1 that vouches for itself."""
    directory = tmp_path_factory.mktemp("certificate")
    key, file = directory / "key.pem", directory / "broker.pem"
    request = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=kafka", "-addext", "subjectAltName=IP:127.0.0.1"]
    command = [*request, *names, "-keyout", key, "-out", file]
    subprocess.run(command, check=True, capture_output=True)
    file.write_text(key.read_text() + file.read_text())
    return file


@pytest.fixture(scope="module")
def guarded_port(tmp_path_factory: pytest.TempPathFactory, certificate: Path) -> Iterator[int]:
    """The port of a broker where "ada" may log in with "secret"."""
    directory = tmp_path_factory.mktemp("guarded")
    lock = DirectoryLock(directory)
    node = KafkaNode(0, directory / "node-0", lock=lock)
    plain, controller, port = kept_ports(directory / "ports", 3)
    runtime = Runtime(java=tools.java(), classpath=tools.kafka_classpath())
    lock.take()
    node.prepare(runtime, cluster_id="c2VlZG1lbS10ZXN0LTAwMQ", port=plain, controllers=[controller])
    with (directory / "node-0/server.properties").open("a") as properties:
        properties.write(
            LISTENER.format(plain=plain, controller=controller, port=port, certificate=certificate)
        )
    node.start()
    login = UserScramCredentialUpsertion("ada", ScramMechanism.SCRAM_SHA_512, b"secret")
    with KafkaAdminClient(bootstrap_servers=f"127.0.0.1:{plain}") as admin:
        admin.alter_user_scram_credentials([login])
    yield port
    node.kill()
    lock.release()


@pytest.fixture
def guarded(settings: Settings, guarded_port: int, certificate: Path) -> Settings:
    return msgspec.structs.replace(
        settings,
        kafka=f"127.0.0.1:{guarded_port}",
        kafka_tls=True,
        kafka_ca=str(certificate),
        kafka_user="ada",
        kafka_password="secret",
    )


def test_worker_and_client_prove_themselves_and_know_the_broker(guarded, workers):
    topics.create(guarded)
    workers(**{n: getattr(guarded, n) for n in guarded.__struct_fields__ if "kafka" in n})

    with Client(guarded) as client:
        token = client.remember("ada", "the tulips are by the gate").token
        answer = client.ask("ada", "where are the tulips?", after=token, deadline_ms=20_000)

    assert [hit.text for hit in answer.hits] == ["the tulips are by the gate"]


@pytest.mark.parametrize("wrong", [{"kafka_password": "guessed"}, {"kafka_ca": None}])
def test_neither_a_wrong_password_nor_an_unknown_broker_is_accepted(guarded, wrong):
    settings = msgspec.structs.replace(guarded, **wrong)
    command = [sys.executable, "-m", "streams.cli", "topics", "check"]

    # A process of its own: kafka-python leaves sockets behind when it is hung up on.
    checked = subprocess.run(
        command, env=settings.to_env(), capture_output=True, text=True, check=False
    )

    assert checked.returncode == 1
    assert "TLS and login right?" in checked.stderr
