"""Names of the keys. All keys of one user share one hash tag, so one cluster slot.

A user's keys hold a hash of the id; the full id is in ``meta``, where it is
compared at every read and write.
"""

import re
from functools import lru_cache
from hashlib import blake2b

from streams.store.values import EXTRACTED, PAIR

OF_GENERATION = (
    "records", "graph", "graph:a", "graph:b", "graph:damaged", "adapters", "decisions",
)  # fmt: skip
"""Keys that a user has per generation (vector space)."""
OF_USER = ("pairs", "extracted", "questions")
"""Keys that outlive a change of encoder."""

_OUTLIVES = {PAIR: "pairs", EXTRACTED: "extracted"}


class UserKeys:
    """The keys of one user."""

    def __init__(self, namespace: str, user_id: str) -> None:
        digest = blake2b(user_id.encode(), digest_size=16).hexdigest()
        self.prefix = f"{namespace}seedmem:{{{digest}}}:"
        self.meta = f"{self.prefix}meta"
        self.questions = f"{self.prefix}questions"

    def hash_of(self, field: bytes, generation: str) -> str:
        """Return the key of the hash that keeps ``field``."""
        name = _OUTLIVES.get(field[:1])
        return f"{self.prefix}{name}" if name else self.records(generation)

    def records(self, generation: str) -> str:
        """Return the key of the hash of memories, subjects and name vectors."""
        return f"{self.prefix}{generation}:records"

    def graph(self, generation: str, part: str = "") -> str:
        """Return the key of a graph's manifest, or of ``part`` of it."""
        return f"{self.prefix}{generation}:graph{part}"

    def adapters(self, generation: str) -> str:
        """Return the key of the hash of query adapters."""
        return f"{self.prefix}{generation}:adapters"

    def decisions(self, generation: str) -> str:
        """Return the key of the list of decisions about adapters."""
        return f"{self.prefix}{generation}:decisions"


@lru_cache(maxsize=4_096)  # a user's writes come in runs
def keys_of(namespace: str, user_id: str) -> UserKeys:
    """Return the keys of one user."""
    return UserKeys(namespace, user_id)


def partitions_key(namespace: str) -> str:
    """Return the key of the one marker that every store has."""
    return f"{namespace}seedmem:partitions"


def every_meta(namespace: str) -> str:
    """Return the pattern of all users' ``meta`` keys in this namespace."""
    literal = re.sub(r"([*?\[\]\\])", r"\\\1", namespace)
    return f"{literal}seedmem:{{*}}:meta"
