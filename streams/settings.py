"""One worker's settings, and the only reader of the environment.

Each field is ``SEEDMEM_<FIELD>`` in the environment. A name that is not a
field is refused: a misspelt setting never means the default.
"""

import os
import re
from collections.abc import Mapping
from typing import Annotated, Literal
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta

from streams.errors import ConfigError

PREFIX = "SEEDMEM_"
_SERVER = re.compile(r"[^\s,/@]+")
_REDIS = ("redis", "rediss", "unix")
NATIVE_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")

Role = Literal["serve", "extract", "retrain"]
Positive = Annotated[int, Meta(gt=0)]
NotNegative = Annotated[int, Meta(ge=0)]
Measure = Annotated[float, Meta(gt=0, le=1e9)]  # finite
Seconds = Measure


class Settings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One worker. Each field is ``SEEDMEM_<FIELD>`` in the environment."""

    kafka: str = "localhost:9092"
    """Bootstrap servers, comma-separated."""
    kafka_tls: bool = False
    """Talk TLS to Kafka."""
    kafka_ca: str | None = None
    """File of the certificates that vouch for the brokers. Unset: those of the system."""
    kafka_certificate: str | None = None
    """File of our certificate and its key, for brokers that ask for one."""
    kafka_user: str | None = None
    """Login to Kafka by SASL. Unset: without."""
    kafka_password: str | None = None
    """Password of that login."""
    kafka_mechanism: Literal["SCRAM-SHA-512", "SCRAM-SHA-256", "PLAIN"] = "SCRAM-SHA-512"
    """Mechanism of that login. PLAIN shows the password to whoever listens: only with TLS."""
    redis: str = "redis://localhost:6379/0"
    """URL of the Redis server that keeps every user's records."""
    role: Role = "serve"
    """Which agents this process runs; each role is its own consumer group."""
    namespace: str = ""
    """Prefix of every topic, key and consumer group, so that several services share one cluster."""
    partitions: Positive = 12
    """Of every input topic. Fixed at first deployment: changing it moves every user."""
    replication: Positive = 1
    """Replicas of a topic that ``topics create`` makes."""
    encoder: str = "minilm"
    """``minilm``; ``onnx:`` or ``st:`` and a directory or hub id; ``openai:MODEL``;
    ``vertex:MODEL``; ``given:DIM`` when each event brings its vector; ``hash:DIM`` in tests."""
    encoder_url: str | None = None
    """Address of a remote encoder, for example of a proxy. Unset: the public one."""
    encoder_key: str | None = None
    """Key of a remote encoder."""
    encoder_project: str | None = None
    """Cloud project of a ``vertex:`` encoder that is reached without a key."""
    encoder_location: str = "us-central1"
    """Region of a ``vertex:`` encoder."""
    encoder_dim: Positive | None = None
    """Length of a remote encoder's vectors. Unset: it is asked once at start."""
    exact_limit: NotNegative = 20_000
    """Memories up to which a user is searched exactly; above it by hnswlib. 0: hnswlib always."""
    hot_bytes: Positive = 2_000_000_000
    """Bytes of hot users before the least recently used is let go."""
    user_records: NotNegative = 250_000
    """Records of one user, tombstones included, at which new memories and subjects are refused. 0:
    never."""
    threads: Positive = 1
    """Threads of each pool (queries, ingest, their encoders)."""
    batch_size: Positive = 64
    """Most events of one ingest batch."""
    batch_wait: Seconds = 0.02
    """Seconds an ingest batch waits to fill."""
    queries_in_flight: Positive = 256
    """Queries that one worker answers at a time."""
    deadline: Seconds = 2.0
    """Seconds within which a query without ``deadline_ms`` gets its reply."""
    retrain_pairs: Positive = 40
    """Supervision pairs from which on an adapter is learned from them."""
    retrain_growth: Measure = 0.25
    """Share by which a user's pairs must have grown since the last time to learn anew."""
    retrain_days: Measure = 7.0
    """Days since a user's last decision from which on ``adapters retrain --due`` asks for one."""
    reply_topics: tuple[str, ...] = ()
    """Reply topics that a query may name, besides the default one."""
    allow_volatile_redis: bool = False
    """Start also on a Redis that loses acknowledged writes on a crash."""
    redis_timeout: Seconds = 2.0
    """Seconds until one Redis call counts as failed (it is then retried)."""
    instance_id: str = ""
    """Static group membership, for example the pod name. Empty: dynamic membership."""
    session_timeout: Seconds = 6.0
    """Seconds without a heartbeat until the group gives a worker's partitions away. Brokers take
    6 at the least, unless they are told otherwise."""
    health_host: str = "127.0.0.1"
    """Address that liveness, readiness and metrics are served on."""
    health_port: Annotated[int, Meta(ge=0, le=65535)] = 0
    """Port of liveness, readiness and metrics; 0 picks a free one."""
    stuck_after: Seconds = 120.0
    """Seconds that a partition may stand still, while events wait, until liveness fails; the role
    retrain has 15 times as long."""
    log_format: Literal["text", "json"] = "text"
    """``json``: each line of a worker's log is one JSON object."""
    tracing: bool = False
    """Trace events by OpenTelemetry, from a question to its reply. Where spans go, the standard
    OTEL_* variables say. Needs the extra ``tracing``."""

    @classmethod
    def from_env(cls, env: Mapping[str, str] | None = None, **overrides: object) -> "Settings":
        """Return the settings of ``env`` (by default the process's), with ``overrides`` on top.

        Raises:
            ConfigError: a name is unknown, or a value does not fit its field.
        """
        env = os.environ if env is None else env
        given: dict[str, object] = {}
        for name, value in env.items():
            if name.startswith(PREFIX):
                given[_field_of(name)] = _parsed(name, value)
        return cls.of(given | overrides)

    @classmethod
    def of(cls, fields: Mapping[str, object]) -> "Settings":
        """Return the settings that ``fields`` make. Raises ``ConfigError`` as ``from_env`` does."""
        try:
            settings = msgspec.convert(dict(fields), cls, strict=False)
        except msgspec.ValidationError as error:
            raise ConfigError(f"setting does not fit: {error}") from error
        _check_addresses(settings)
        return settings

    def to_env(self) -> dict[str, str]:
        """Return the environment that makes a child process run with these settings."""
        values = ((name, getattr(self, name)) for name in _FIELDS)
        return {PREFIX + name.upper(): _formatted(v) for name, v in values if v is not None}


def tame_native_libraries(threads: int) -> None:
    """Have libraries that are loaded from now on use ``threads``, unless the environment says else.

    And have onnxruntime not report to its makers, which its Linux builds do since 1.32.
    """
    for name in NATIVE_THREADS:
        os.environ.setdefault(name, str(threads))
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")


_FIELDS = tuple(Settings.__struct_fields__)


def _check_addresses(settings: Settings) -> None:
    """Raise ``ConfigError`` where a library would raise what names no setting, or wait for ever."""
    for server in settings.kafka.split(","):
        if not _SERVER.fullmatch(server) or not _has_port(f"kafka://{server}"):
            raise ConfigError(f"SEEDMEM_KAFKA: got {server!r}, want HOST:PORT, comma-separated")
    scheme, separator, _ = settings.redis.partition("://")
    if scheme not in _REDIS or not separator or not _has_port(settings.redis):
        hidden = "..." if separator else ""  # the rest may hold a password
        raise ConfigError(
            f"SEEDMEM_REDIS: got {scheme + separator + hidden!r}, want redis://HOST:PORT/DATABASE, "
            "rediss://HOST:PORT/DATABASE or unix://PATH"
        )


def _has_port(url: str) -> bool:
    """Return whether the port of ``url`` is one, or left out."""
    try:
        return urlsplit(url).port != 0
    except ValueError:
        return False


def _field_of(name: str) -> str:
    field = name.removeprefix(PREFIX).lower()
    if field not in _FIELDS:
        raise ConfigError(f"unknown setting {name}; known: {', '.join(sorted(_FIELDS))}")
    return field


def _parsed(name: str, value: str) -> object:
    if name == f"{PREFIX}REPLY_TOPICS":
        return [topic for topic in value.split(",") if topic]
    return value


def _formatted(value: object) -> str:
    return ",".join(value) if isinstance(value, tuple) else str(value)
