"""Asks a service all the time, beside what a scenario does to it."""

import random
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from types import TracebackType

from streams.client import Answer, Client
from streams.errors import StreamsError
from streams.events import Event, MemoryCreated, Status
from streams.intake import owner_of
from streams.settings import Settings
from streams.wire import key_of


class Watch:
    """One asker per partition; keeps every answer's status and the longest time without one.

    Args:
        settings: of the service.
        users: who is asked for; all partitions should be among theirs.
        told: what all users' memories may say, to find a foreign one among the hits.
        every: seconds between two questions of one asker.
        deadline: of a question, in seconds.
    """

    def __init__(
        self,
        settings: Settings,
        users: list[str],
        *,
        told: Iterable[Event] = (),
        every: float = 0.1,
        deadline: float = 1.0,
    ) -> None:
        self._settings, self._every, self._deadline = settings, every, deadline
        self._users: dict[int, list[str]] = {}
        for user in users:
            owner = owner_of(key_of(user), settings.partitions)
            self._users.setdefault(owner, []).append(user)
        self._own: dict[str, set[str]] | None = None
        for event in told:
            if isinstance(event, MemoryCreated):
                self._own = self._own or defaultdict(set)
                self._own[event.user_id].add(event.text)
        self.statuses: Counter[str] = Counter()
        """Answers by status, and ``none`` where no reply came within the deadline and 1 s."""
        self.took: list[float] = []
        """Seconds of each question that was answered ``ok``, as the asker sees them."""
        self.foreign: list[Answer] = []
        """Answers that name another user than was asked for, or hold what that user never said."""
        self.longest_gap = 0.0
        """Seconds between two answers ``ok`` of one partition, the longest."""
        self._stop = threading.Event()
        self._pool = ThreadPoolExecutor(len(self._users))

    def __enter__(self) -> "Watch":
        self._client = Client(self._settings)
        self._asking = [self._pool.submit(self._ask, users) for users in self._users.values()]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        self._stop.set()
        self._pool.shutdown()
        self._client.close()
        if error is None:
            for asking in self._asking:
                asking.result()

    def percentile(self, share: float) -> float:
        """Return the seconds within which ``share`` of the ``ok`` answers came."""
        return sorted(self.took)[int(share * (len(self.took) - 1))]

    def _ask(self, users: list[str]) -> None:
        chance, seen_at = random.Random(len(users)), time.monotonic()
        while not self._stop.is_set():
            user, asked_at = chance.choice(users), time.monotonic()
            status = "none"
            with suppress(StreamsError):  # no reply, or no broker
                answer = self._client.ask(
                    user, "who repaired the piano?", deadline_ms=int(1000 * self._deadline)
                )
                status = answer.status
                if self._is_foreign(user, answer):
                    self.foreign.append(answer)
            now = time.monotonic()
            self.statuses[str(status)] += 1
            self.longest_gap = max(self.longest_gap, now - seen_at)
            if status == Status.OK:
                self.took.append(now - asked_at)
                seen_at = now
            self._stop.wait(max(0.0, asked_at + self._every - now))

    def _is_foreign(self, user: str, answer: Answer) -> bool:
        said = {hit.text for hit in answer.hits}
        return answer.user_id != user or (self._own is not None and not said <= self._own[user])
