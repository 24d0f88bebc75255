"""A Faust app with the settings that at-least-once delivery needs."""

import tempfile
from pathlib import Path
from uuid import uuid4

import faust
from faust.types import TopicT
from faust.types.auth import CredentialsT
from yarl import URL

from streams.fetching import fetch_promptly
from streams.security import tls_context
from streams.settings import Settings
from streams.topics import group_of

FOREVER = 7 * 86_400.0  # seconds; a worker that overstays max.poll.interval never comes back
COMMIT_INTERVAL = 0.5  # seconds; what a killed worker's successor reads again
POLL = 200  # records; with the buffer below, one full agent does not block the others
FETCH = 65_536  # bytes of a partition fetched at once; a question waits behind what was fetched
METADATA_AGE = 30.0  # seconds after which a partition that was added is noticed
BUFFER = 4_096  # events of one agent's queue; keep POLL × partitions ≤ 0.2 × BUFFER


def make_app(settings: Settings) -> faust.App:
    """Return an app that consumes in the group of ``settings.role``; agents are added by others."""
    name = group_of(settings)
    app = faust.App(
        name,
        broker=[URL(f"aiokafka://{server}") for server in settings.kafka.split(",")],
        broker_credentials=_credentials(settings),
        broker_client_id=f"{name}-{settings.instance_id or uuid4().hex[:8]}",
        store=URL("memory://"),
        datadir=Path(tempfile.gettempdir()) / name,  # Faust makes it; nothing is kept there
        autodiscover=False,
        web_enabled=False,
        topic_allow_declare=False,
        topic_disable_leader=True,
        topic_partitions=settings.partitions,
        stream_wait_empty=False,
        stream_buffer_maxsize=max(BUFFER, 5 * POLL * settings.partitions),
        # There are no tables; but with standby replicas Faust assigns co-partitioned: the
        # partitions of one number of all topics, so all events of a user, go to one worker.
        table_standby_replicas=1,
        consumer_auto_offset_reset="earliest",
        consumer_group_instance_id=settings.instance_id or None,
        broker_max_poll_records=POLL,
        consumer_max_fetch_size=FETCH,
        consumer_metadata_max_age_ms=int(1000 * METADATA_AGE),
        broker_max_poll_interval=FOREVER,
        broker_session_timeout=settings.session_timeout,
        broker_heartbeat_interval=settings.session_timeout / 20,
        broker_request_timeout=4 * settings.session_timeout,
        broker_commit_interval=COMMIT_INTERVAL,
        producer_acks=-1,
        producer_linger=0.0,
    )
    fetch_promptly(app)
    return app


def _credentials(settings: Settings) -> CredentialsT | None:
    context = tls_context(settings)
    if settings.kafka_user is not None:
        return faust.SASLCredentials(
            username=settings.kafka_user,
            password=settings.kafka_password,
            mechanism=settings.kafka_mechanism,
            ssl_context=context,
        )
    return None if context is None else faust.SSLCredentials(context)


def raw_topic(app: faust.App, name: str) -> TopicT:
    """Return the topic ``name`` as bytes: decoding is ours, so that no bad byte stops an agent."""
    return app.topic(
        name, key_type=bytes, value_type=bytes, key_serializer="raw", value_serializer="raw"
    )
