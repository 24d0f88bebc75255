"""From the settings to how Kafka's clients are made, the same for both libraries."""

import ssl

import faust
import pytest
from faust.transport.drivers.aiokafka import credentials_to_aiokafka_auth

from streams.errors import ConfigError
from streams.faustapp import make_app
from streams.security import client_options
from streams.settings import Settings

LOGIN = {"kafka_user": "ada", "kafka_password": "secret"}


def for_faust(settings: Settings) -> dict[str, object]:
    """Return what Faust makes its aiokafka clients with."""
    app: faust.App = make_app(settings)
    return dict(credentials_to_aiokafka_auth(app.conf.broker_credentials, app.conf.ssl_context))


@pytest.mark.parametrize(
    ("given", "protocol"),
    [
        ({}, "PLAINTEXT"),
        ({"kafka_tls": True}, "SSL"),
        (LOGIN, "SASL_PLAINTEXT"),
        ({"kafka_tls": True, **LOGIN}, "SASL_SSL"),
    ],
)
def test_both_libraries_speak_the_same_protocol(given, protocol):
    settings = Settings(**given)

    assert client_options(settings)["security_protocol"] == protocol
    assert for_faust(settings)["security_protocol"] == protocol


def test_both_libraries_log_in_alike():
    settings = Settings(**LOGIN, kafka_mechanism="PLAIN")
    expected = {
        "sasl_mechanism": "PLAIN",
        "sasl_plain_username": "ada",
        "sasl_plain_password": "secret",
    }

    assert expected.items() <= client_options(settings).items()
    assert expected.items() <= for_faust(settings).items()


def test_brokers_must_prove_who_they_are():
    settings = Settings(kafka_tls=True)

    for options in (client_options(settings), for_faust(settings)):
        assert options["ssl_context"].verify_mode is ssl.CERT_REQUIRED
        assert options["ssl_context"].check_hostname


@pytest.mark.parametrize("given", [{"kafka_user": "ada"}, {"kafka_password": "secret"}])
def test_half_a_login_is_refused(given):
    with pytest.raises(ConfigError, match="KAFKA_USER and SEEDMEM_KAFKA_PASSWORD, or neither"):
        client_options(Settings(**given))


def test_certificates_that_would_encrypt_nothing_are_refused():
    with pytest.raises(ConfigError, match="SEEDMEM_KAFKA_TLS=true"):
        make_app(Settings(kafka_ca="ca.pem"))


@pytest.mark.parametrize("name", ["kafka_ca", "kafka_certificate"])
def test_a_file_that_cannot_be_used_is_named(name, tmp_path):
    broken = tmp_path / "broken.pem"
    broken.write_text("no certificate")

    with pytest.raises(ConfigError, match=r"broken\.pem"):
        client_options(Settings(kafka_tls=True, **{name: str(broken)}))
