"""The client: remember, forget, ask and recalled, over kafka-python. It is thread-safe.

A call that changes something returns, once the brokers have it, the token of ``ask(after=…)``.
"""

import time
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from seedmem.vectors import to_wire
from streams import tracing
from streams.errors import AnswerTimeout
from streams.events import (
    After,
    Event,
    Filters,
    MemoryCreated,
    MemoryRecalled,
    QueryAsked,
    QueryReply,
    Scalar,
    SubjectExtracted,
    UserErased,
)
from streams.replies import Replies
from streams.sender import Sender
from streams.settings import Settings
from streams.topics import Topics

Answer = QueryReply
Instant = datetime | str | float  # aware datetime, ISO 8601, or seconds since the epoch
Numbers = Sequence[float] | NDArray[np.floating[Any]]  # (d,)

_WAY_BACK = 1.0  # seconds after the deadline in which a reply may still be under way


@dataclass(frozen=True, slots=True)
class Remembered:
    """A memory that the brokers have; ``ask(after=token)`` will see it."""

    memory_id: str
    token: After


class Client:
    """What a chat application calls.

    Every method raises ``RefusedError`` when a field does not fit the contract (nothing
    was sent), and ``TransientError`` when Kafka does not confirm an event in time.
    """

    def __init__(
        self, settings: Settings | str | None = None, *, reply_partition: int | None = None
    ) -> None:
        """Connect to a service by its settings, its bootstrap servers, or the environment.

        ``reply_partition`` is where this client reads its replies; by default drawn at random.
        """
        if isinstance(settings, str):
            settings = Settings(kafka=settings)
        self.settings = settings or Settings.from_env()
        topics = Topics(self.settings.namespace)
        self._replies = Replies(self.settings, topics.query_reply, partition=reply_partition)
        self._sender = Sender(self.settings, topics)

    def remember(
        self,
        user_id: str,
        text: str,
        *,
        memory_id: str | None = None,
        version: int | None = None,
        created_at: Instant | None = None,
        session_id: str | None = None,
        role: str | None = None,
        vector: Numbers | None = None,
        encoder: str | None = None,
        metadata: Mapping[str, Scalar] | None = None,
    ) -> Remembered:
        """Store a memory; with the ``memory_id`` of an old one, replace that.

        Of two events with one id the higher ``version`` wins, whatever comes first; without
        versions the later one. ``created_at`` is when it was said, ``role`` who said it. A
        ``vector`` made by ``encoder`` spares the service the embedding.
        """
        memory = MemoryCreated(
            user_id=user_id,
            memory_id=uuid.uuid4().hex if memory_id is None else memory_id,
            text=text,
            version=version,
            created_at=_moment(created_at),
            session_id=session_id,
            role=role,
            vector=_wire(vector),
            encoder=encoder,
            metadata=dict(metadata or {}),
        )
        return Remembered(memory.memory_id, self.send(memory))

    def forget(self, user_id: str, memory_id: str, *, version: int | None = None) -> After:
        """Remove a memory, for good if nothing with a higher ``version`` comes."""
        return self.send(
            MemoryCreated(user_id=user_id, memory_id=memory_id, version=version, deleted=True)
        )

    def link(
        self,
        user_id: str,
        subject_id: str,
        name: str,
        memory_ids: Iterable[str],
        *,
        type: str | None = None,
        version: int | None = None,
    ) -> After:
        """Store a subject with the whole set of memories that are about it."""
        return self.send(
            SubjectExtracted(
                user_id=user_id,
                subject_id=subject_id,
                name=name,
                memory_ids=list(memory_ids),
                type=type,
                version=version,
            )
        )

    def ask(
        self,
        user_id: str,
        text: str | None = None,
        *,
        vector: Numbers | None = None,
        encoder: str | None = None,
        k: int = 10,
        mode: Literal["lookup", "association"] = "lookup",
        after: After | None = None,
        as_of: Instant | None = None,
        filters: Filters | None = None,
        deadline_ms: int | None = None,
        timeout: float | None = None,
        explain: bool = False,
    ) -> Answer:
        """Return the at most ``k`` memories that a question means, best first.

        The service replies within ``deadline_ms`` (by default the setting), with what it
        has by then; this call waits ``timeout`` seconds, by default 1 s more than that.
        ``after`` waits for an event of one's own, ``as_of`` answers as at that time, and
        ``mode="association"`` finds what a remark brings to mind.

        Raises:
            AnswerTimeout: no reply came in time.
            TopicsError: the reply topic or its partition does not exist.
        """
        deadline_ms = deadline_ms or round(self.settings.deadline * 1_000)
        question = QueryAsked(
            user_id=user_id,
            request_id=uuid.uuid4().hex,
            text=text,
            vector=_wire(vector),
            encoder=encoder,
            k=k,
            mode=mode,
            after=after,
            as_of=_moment(as_of),
            filters=filters or Filters(),
            deadline_ms=deadline_ms,
            reply_partition=self._replies.partition,
            explain=explain,
        )
        return self._answer(question, timeout or deadline_ms / 1_000 + _WAY_BACK)

    def recalled(
        self,
        user_id: str,
        memory_id: str,
        *,
        query: str | None = None,
        request_id: str | None = None,
        outcome: Literal["used", "rejected"] = "used",
        recalled_at: Instant | None = None,
    ) -> After:
        """Say that a memory was, or was not, what a question meant: the ranking learns from it.

        Raises ``ValueError`` unless one of ``query`` (its text) and ``request_id`` is given.
        """
        if (query is None) == (request_id is None):
            raise ValueError(f"give query or request_id, got {query!r} and {request_id!r}")
        return self.send(
            MemoryRecalled(
                user_id=user_id,
                memory_id=memory_id,
                query=query,
                request_id=request_id,
                outcome=outcome,
                recalled_at=_moment(recalled_at),
            )
        )

    def erase(self, user_id: str, *, request_id: str | None = None) -> After:
        """Have everything of a user erased; the receipt will name ``request_id``."""
        return self.send(UserErased(user_id=user_id, request_id=request_id or uuid.uuid4().hex))

    def send(self, event: Event) -> After:
        """Send any event of the contract and return its place."""
        return self._sender.send(event)

    def send_all(self, events: Iterable[Event]) -> list[After]:
        """Send many events in order, thousands in flight; return their places once confirmed.

        Raises at the first that fails; those before it may be sent again without harm.
        """
        return self._sender.send_all(events)

    def close(self) -> None:
        """Flush, stop reading and disconnect. Does nothing twice."""
        self._replies.close()
        self._sender.close()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()

    def _answer(self, question: QueryAsked, timeout: float) -> Answer:
        until = time.monotonic() + timeout
        with tracing.asking(question.user_id), self._replies.expect(question.request_id) as reply:
            self._sender.send(question, timeout=timeout)
            try:
                return reply.result(max(0.0, until - time.monotonic()))
            except TimeoutError as error:
                raise AnswerTimeout(
                    f"no reply to request {question.request_id} on {self._replies.topic}"
                    f"[{question.reply_partition}] within {timeout:g} s; is a worker running?"
                ) from error


def _moment(instant: Instant | None) -> str | float | None:
    return instant.isoformat() if isinstance(instant, datetime) else instant


def _wire(vector: Numbers | None) -> str | None:
    return None if vector is None else to_wire(np.asarray(vector))
