"""How Kafka's clients are made: where the brokers are, how we know them, how they know us."""

import ssl
from typing import Any

from streams.errors import ConfigError
from streams.settings import Settings


def client_options(settings: Settings) -> dict[str, Any]:
    """Return what kafka-python's clients are made with: addresses, TLS and login.

    Raises:
        ConfigError: settings contradict each other, or a file cannot be used.
    """
    _check(settings)
    options: dict[str, Any] = {"bootstrap_servers": settings.kafka.split(",")}
    layers = ["SASL"] if settings.kafka_user else []
    layers.append("SSL" if settings.kafka_tls else "PLAINTEXT")
    options["security_protocol"] = "_".join(layers)
    if settings.kafka_tls:
        options["ssl_context"] = tls_context(settings)
    if settings.kafka_user:
        options["sasl_mechanism"] = settings.kafka_mechanism
        options["sasl_plain_username"] = settings.kafka_user
        options["sasl_plain_password"] = settings.kafka_password
    return options


def tls_context(settings: Settings) -> ssl.SSLContext | None:
    """Return what TLS to the brokers is made with, None without TLS. Raises as above."""
    _check(settings)
    if not settings.kafka_tls:
        return None
    try:
        context = ssl.create_default_context(cafile=settings.kafka_ca)
        if settings.kafka_certificate is not None:
            context.load_cert_chain(settings.kafka_certificate)
    except OSError as error:  # ssl's errors are among them
        files = f"{settings.kafka_ca or 'the system’s'}, {settings.kafka_certificate or 'none'}"
        raise ConfigError(
            f"certificates for Kafka cannot be used ({files}): {error}; see SEEDMEM_KAFKA_CA "
            "and SEEDMEM_KAFKA_CERTIFICATE"
        ) from error
    return context


def _check(settings: Settings) -> None:
    if (settings.kafka_user is None) != (settings.kafka_password is None):
        raise ConfigError("set both SEEDMEM_KAFKA_USER and SEEDMEM_KAFKA_PASSWORD, or neither")
    if not settings.kafka_tls and (settings.kafka_ca or settings.kafka_certificate):
        raise ConfigError(
            "certificates for Kafka are set, but nothing would be encrypted: "
            "set SEEDMEM_KAFKA_TLS=true"
        )
