"""What every part is given: sizes, texts, and Kafka and Redis, started when first asked for."""

import uuid
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory

import msgspec

from benchmarks.data import Talk
from benchmarks.program import Program, bare_worker, seedmem_worker
from streams import topics
from streams.local import LocalKafka, LocalRedis
from streams.settings import Settings


@dataclass(frozen=True, kw_only=True)
class Sizes:
    """How much of everything."""

    memories: int = 2_200
    """Of the one user who is asked."""
    subjects: int = 400
    questions: int = 150
    """Timed in one round, in process."""
    rounds: int = 7
    growth: tuple[int, ...] = (100, 300, 1_000, 2_200, 5_000, 10_000, 20_000, 50_000)
    """Memories of one user."""
    growth_questions: int = 40
    """Timed in one round, at each number of memories."""
    asks: int = 400
    """Questions over Kafka to a worker that has nothing else to do."""
    flood: int = 20_000
    """Events that come in while questions are asked, and events of one round of ingest."""
    embedded: int = 1_000
    """Events without a vector of one round."""
    ingest_rounds: int = 3
    remembered: int = 200
    """Memories that are looked for as soon as they are produced."""
    small_users: int = 1_000
    """Users of ten memories."""
    idle_users: int = 100_000
    restarts: int = 3
    simulated_users: int = 10
    simulated_rounds: tuple[int, ...] = (20, 40, 80)
    """Pairs of each user after each round, or as many as there are."""


QUICK = Sizes(
    memories=60,
    subjects=10,
    questions=5,
    rounds=2,
    growth=(50, 100),
    growth_questions=5,
    asks=5,
    flood=200,
    embedded=32,
    ingest_rounds=1,
    remembered=3,
    small_users=5,
    idle_users=50,
    restarts=1,
    simulated_users=1,
    simulated_rounds=(2, 4),
)
"""To see that everything runs. The figures mean nothing."""


class Bench:
    """Sizes, texts, and servers that end with it."""

    def __init__(
        self,
        sizes: Sizes,
        talk: Talk,
        *,
        kafka: str | None = None,
        redis: str | None = None,
        progress: Callable[[str], None] = lambda _line: None,
    ) -> None:
        """Take given servers, or start others when a part asks for them."""
        self.sizes, self.talk, self.progress = sizes, talk, progress
        self._given = {"kafka": kafka, "redis": redis}
        self._exit = ExitStack()

    @cached_property
    def directory(self) -> Path:
        """A place for files."""
        return Path(self._exit.enter_context(TemporaryDirectory(prefix="seedmem-bench-")))

    @cached_property
    def kafka(self) -> str:
        """Bootstrap servers."""
        return self._given["kafka"] or self._exit.enter_context(self._local_kafka).bootstrap

    @cached_property
    def redis(self) -> str:
        """URL of a server that syncs every write to its disk."""
        return self._given["redis"] or self._exit.enter_context(self._local_redis).url

    def settings(self, **differing: object) -> Settings:
        """Return the settings of a service with topics and keys of its own."""
        made = Settings(
            kafka=self.kafka,
            redis=self.redis,
            namespace=f"bench-{uuid.uuid4().hex[:8]}-",
            partitions=4,
            session_timeout=45.0,  # seconds; a paused worker stays a member
        )
        made = msgspec.structs.replace(made, **differing)
        topics.create(made)
        return made

    def seedmem(self, settings: Settings) -> Program:
        """Return a seedmem worker, not started; it ends with this."""
        return self._exit.enter_context(seedmem_worker(settings, self._fresh()))

    def bare(self, settings: Settings) -> Program:
        """Return a worker that only echoes and counts, not started; it ends with this."""
        return self._exit.enter_context(bare_worker(settings, self._fresh()))

    def __enter__(self) -> "Bench":
        return self

    def __exit__(self, *_error: object) -> None:
        self._exit.close()

    def _fresh(self) -> Path:
        directory = self.directory / uuid.uuid4().hex[:8]
        directory.mkdir()
        return directory

    @property
    def _local_kafka(self) -> LocalKafka:
        return LocalKafka(self.directory / "kafka")

    @property
    def _local_redis(self) -> LocalRedis:
        return LocalRedis(self.directory / "redis")
