"""What a query event asks, checked: from the wire to the core's ``Query``."""

from seedmem.retrieve import Query
from seedmem.text import is_blank
from seedmem.vectors import VectorSpace
from streams.agents.vectors import given_vector
from streams.events import MAX_HITS, QueryAsked
from streams.intake import owner_of
from streams.refusal import Reason, RefusedError
from streams.settings import Settings
from streams.topics import Topics
from streams.wire import key_of, seconds


def question_of(asked: QueryAsked, space: VectorSpace, topics: Topics, settings: Settings) -> Query:
    """Return the checked question.

    Raises:
        RefusedError: it cannot be answered as it is asked.
    """
    _check_reply_address(asked, topics, settings)
    _check_after(asked, topics, settings)
    vector = given_vector(asked.vector, asked.encoder, space)
    text = None if asked.text is None or is_blank(asked.text) else asked.text
    if text is None and vector is None:
        raise RefusedError(Reason.TEXT, "want a text or a vector, got neither", field="$.text")
    filters = asked.filters
    return Query(
        text=text,
        vector=vector,
        k=min(asked.k, MAX_HITS),
        mode=asked.mode,
        as_of=seconds(asked.as_of, field="as_of"),
        subjects=tuple(filters.subjects),
        sessions=tuple(filters.sessions),
        since=seconds(filters.since, field="filters.since"),
        until=seconds(filters.until, field="filters.until"),
    )


def _check_reply_address(asked: QueryAsked, topics: Topics, settings: Settings) -> None:
    if asked.reply_topic not in (None, topics.query_reply, *settings.reply_topics):
        detail = f"{asked.reply_topic!r} is not in SEEDMEM_REPLY_TOPICS"
        raise RefusedError(Reason.SCHEMA, detail, field="$.reply_topic")
    if (asked.reply_partition or 0) >= settings.partitions:
        detail = f"want less than {settings.partitions}, got {asked.reply_partition}"
        raise RefusedError(Reason.SCHEMA, detail, field="$.reply_partition")


def _check_after(asked: QueryAsked, topics: Topics, settings: Settings) -> None:
    after = asked.after
    if after is None:
        return
    owner = owner_of(key_of(asked.user_id), settings.partitions)
    inputs = (topics.memory_created, topics.subject_extracted)
    if after.topic not in inputs or after.partition != owner:
        detail = f"want a place on partition {owner} of {' or '.join(inputs)}"
        raise RefusedError(Reason.SCHEMA, detail, field="$.after")
