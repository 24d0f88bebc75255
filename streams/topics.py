"""The topics: names, explicit creation, and the check that one user's events meet in one worker.

A user's events have the same key on every input topic, so with equal partition counts they have
the same partition number, which the service's assignor gives to one worker.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

from streams.errors import TopicsError, TransientError
from streams.security import client_options
from streams.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Iterator

    from kafka import KafkaAdminClient

_CONNECT = 10.0  # seconds until a broker must have answered
_VISIBLE = 30.0  # seconds until every partition of a new topic must have a leader

_ANY_COUNT = frozenset({"dead_letter", "erase_receipt"})


@dataclass(frozen=True, init=False)
class Topics:
    """The names of one service's topics."""

    memory_created: str
    subject_extracted: str
    query: str
    query_reply: str
    memory_recalled: str
    dead_letter: str
    user_erased: str
    erase_receipt: str
    adapter_retrain: str
    adapter_promoted: str

    def __init__(self, namespace: str = "") -> None:
        """Name the topics of the service whose names begin with ``namespace``."""
        for field in fields(self):
            object.__setattr__(self, field.name, namespace + field.name.replace("_", "-"))

    @property
    def all(self) -> tuple[str, ...]:
        return tuple(getattr(self, field.name) for field in fields(self))

    @property
    def copartitioned(self) -> tuple[str, ...]:
        """Those that the service reads by user: their partition counts must be equal."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.name not in _ANY_COUNT)


def create(settings: Settings) -> list[str]:
    """Create the topics that are missing, with the settings' partitions and replication.

    Returns:
        The names of those that were missing; every partition of them has a leader.

    Raises:
        TopicsError: the topics that exist have other partition counts, so nothing was
            created; or Kafka refuses to create them.
        TransientError: Kafka is away.
    """
    topics = Topics(settings.namespace)
    with _admin(settings) as admin:
        existing = _partitions(admin, topics.all)
        _require_equal(existing, topics, settings)
        missing = [name for name in topics.all if name not in existing]
        if missing:
            _create(admin, missing, settings)
            admin.wait_for_topics(missing, timeout_ms=_VISIBLE * 1000)
            _require_equal(_partitions(admin, topics.all), topics, settings)
    return missing


def check(settings: Settings) -> None:
    """Check that every topic is there and that the counts of the co-partitioned ones agree.

    Raises:
        TopicsError: one is missing, or two counts differ; names both, in one line.
        TransientError: Kafka is away.
    """
    topics = Topics(settings.namespace)
    with _admin(settings) as admin:
        existing = _partitions(admin, topics.all)
        replies = _partitions(admin, settings.reply_topics)
    _require_equal(existing, topics, settings)
    for name in settings.reply_topics:
        if replies.get(name, 0) < settings.partitions:
            raise TopicsError(
                f"reply topic {name} has {replies.get(name, 0)} partitions, "
                f"want at least {settings.partitions}"
            )
    if missing := [name for name in topics.all if name not in existing]:
        raise TopicsError(f"missing topics {', '.join(missing)}; run: seedmem topics create")


def was_read(settings: Settings) -> bool:
    """Return whether this role's consumer group has taken in events of our topics before.

    Raises:
        TransientError: Kafka is away.
    """
    group = group_of(settings)
    with _admin(settings) as admin:
        places = admin.list_group_offsets(group)[group]
    return any(place.offset > 0 for place in places.values())


class Gap(NamedTuple):
    """Events of a partition that its topic does not hold any more and this role has not read."""

    topic: str
    partition: int
    first: int | None
    """Offset of the first; None when the group has no offset there, so that nobody can tell."""
    end: int
    """Offset of the first event that is left."""


def gaps(settings: Settings, names: Iterable[str]) -> list[Gap]:
    """Return what retention took from topics ``names`` before this role's group had read it.

    Raises:
        TransientError: Kafka is away.
    """
    from kafka import TopicPartition
    from kafka.admin import OffsetSpec

    group = group_of(settings)
    places = [TopicPartition(name, p) for name in names for p in range(settings.partitions)]
    with _admin(settings) as admin:
        committed = admin.list_group_offsets(group)[group]
        starts = admin.list_partition_offsets(dict.fromkeys(places, OffsetSpec.EARLIEST))
    read = {place: kept.offset for place, kept in committed.items() if kept.offset >= 0}
    return [
        Gap(place.topic, place.partition, read.get(place), start.offset)
        for place, start in starts.items()
        if start.offset > read.get(place, 0)
    ]


def group_of(settings: Settings) -> str:
    """Return the consumer group of a role; it is also the id of the role's Faust app."""
    return f"{settings.namespace}seedmem-{settings.role}"


def _require_equal(existing: Mapping[str, int], topics: Topics, settings: Settings) -> None:
    counts = {name: existing[name] for name in topics.copartitioned if name in existing}
    if len(set(counts.values())) > 1:
        fewest, most = min(counts, key=counts.__getitem__), max(counts, key=counts.__getitem__)
        raise TopicsError(
            f"topic {fewest} has {counts[fewest]} partitions and topic {most} has {counts[most]}; "
            "a user's events meet only if the counts are equal: create both anew with one count"
        )
    for name, count in counts.items():
        if count != settings.partitions:
            raise TopicsError(
                f"topic {name} has {count} partitions and SEEDMEM_PARTITIONS is "
                f"{settings.partitions}; set it to {count}"
            )


def _create(admin: "KafkaAdminClient", names: Sequence[str], settings: Settings) -> None:
    from kafka.errors import TopicAlreadyExistsError

    wanted = {"num_partitions": settings.partitions, "replication_factor": settings.replication}
    answer = admin.create_topics(dict.fromkeys(names, wanted), raise_errors=False)
    for topic in answer["topics"]:
        # One that exists by now was made by another worker that starts: its count is checked next.
        if topic["error_code"] not in (0, TopicAlreadyExistsError.errno):
            raise TopicsError(f"cannot create topic {topic['name']}: {topic['error_message']}")


def _partitions(admin: "KafkaAdminClient", names: Sequence[str]) -> dict[str, int]:
    """Return the partition counts of those of ``names`` that exist."""
    described = admin.describe_topics(list(names)) if names else []
    return {t["name"]: len(t["partitions"]) for t in described if t["error_code"] == 0}


@contextmanager
def _admin(settings: Settings) -> "Iterator[KafkaAdminClient]":
    """Yield an admin client. Translates Kafka's errors into ours."""
    from kafka import KafkaAdminClient
    from kafka.errors import KafkaError

    try:
        with KafkaAdminClient(
            **client_options(settings), bootstrap_timeout_ms=_CONNECT * 1000
        ) as admin:
            yield admin
    except KafkaError as error:
        if not error.retriable:
            raise TopicsError(f"Kafka at {settings.kafka} refuses: {error}") from error
        raise TransientError(
            f"no answer from Kafka at {settings.kafka} ({error}); is it up, "
            "and are SEEDMEM_KAFKA, TLS and login right?"
        ) from error
