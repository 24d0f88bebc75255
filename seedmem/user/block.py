"""Many memories as columns: what is brought in at once, without an object for each."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from seedmem.memory import Memory
from seedmem.text import Terms, hash_terms, terms
from seedmem.vectors import Matrix

NO_METADATA: Mapping[str, str] = {}  # one for all


class Words(NamedTuple):
    """What no column of a memory can hold."""

    memory_id: str
    text: str
    session_id: str | None
    role: str | None
    metadata: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Block:
    """n memories."""

    words: Sequence[Words]
    vectors: Matrix
    """(n, d)."""
    sequence: Sequence[int]
    born: Sequence[int]
    created_at: Sequence[float | None]
    terms: Terms
    """Hashed keyword terms, one memory's after another's."""
    lengths: Sequence[int]
    """How many of ``terms`` are each memory's."""

    @classmethod
    def of(
        cls, memories: Sequence[Memory], vectors: Matrix, hashes: Sequence[Terms | None]
    ) -> "Block":
        """Return ``memories`` with their vectors, (n, d), and their terms where they are known."""
        documents = [
            hash_terms(terms(memory.text)) if known is None else known
            for memory, known in zip(memories, hashes, strict=True)
        ]
        return cls(
            words=[
                Words(m.memory_id, m.text, m.session_id, m.role, m.metadata or NO_METADATA)
                for m in memories
            ],
            vectors=vectors,
            sequence=[memory.sequence for memory in memories],
            born=[memory.born for memory in memories],
            created_at=[memory.created_at for memory in memories],
            terms=np.concatenate(documents),
            lengths=[len(document) for document in documents],
        )

    def __len__(self) -> int:
        return len(self.words)

    @property
    def memory_ids(self) -> list[str]:
        """Ids, in order."""
        return [words.memory_id for words in self.words]
