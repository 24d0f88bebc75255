"""Embeddings that were computed once: one SQLite file, keyed by encoder and text."""

import sqlite3
from collections.abc import Callable, Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from types import TracebackType
from typing import Self

import numpy as np

from seedmem.encode import Encoder
from seedmem.vectors import Matrix, VectorSpace

_BATCH = 128  # texts encoded between two writes
_AT_ONCE = 500  # keys of one look-up

Track = Callable[[Iterable[int]], Iterable[int]]
"""Shows progress over the numbers of the batches."""


class EmbeddingCache:
    """An encoder that remembers what it encoded. Use it in a ``with`` block."""

    def __init__(self, encoder: Encoder, file: Path, track: Track = iter) -> None:
        """Open ``file``, made if it is not there; ``track`` shows progress."""
        file.parent.mkdir(parents=True, exist_ok=True)
        self._encoder, self._track = encoder, track
        self._store = sqlite3.connect(file)
        with self._store:
            self._store.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB NOT NULL)"
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._store.close()

    @property
    def space(self) -> VectorSpace:
        """The encoder's."""
        return self._encoder.space

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) unit rows; texts that were encoded before are looked up.

        Raises:
            EncoderError: a text is blank, or the model failed; earlier batches are kept.
        """
        keys = [self._key(text) for text in texts]
        known = self._known(set(keys))
        missing = list(
            {key: text for key, text in zip(keys, texts, strict=True) if key not in known}.items()
        )
        missing.sort(key=lambda entry: len(entry[1]))  # batches of like length pad little
        for start in self._track(range(0, len(missing), _BATCH)):
            batch = missing[start : start + _BATCH]
            vectors = self._encoder.encode([text for _, text in batch])
            rows = [
                (key, vector.tobytes()) for (key, _), vector in zip(batch, vectors, strict=True)
            ]
            with self._store:
                self._store.executemany("INSERT OR REPLACE INTO vectors VALUES (?, ?)", rows)
            known.update(rows)
        flat = b"".join(known[key] for key in keys)
        return np.frombuffer(flat, dtype=np.float32).reshape(len(texts), self.space.dim)

    def _key(self, text: str) -> bytes:
        named = f"{self.space}\0{text}".encode("utf-8", "surrogatepass")
        return blake2b(named, digest_size=16).digest()

    def _known(self, keys: set[bytes]) -> dict[bytes, bytes]:
        known: dict[bytes, bytes] = {}
        wanted = sorted(keys)
        for start in range(0, len(wanted), _AT_ONCE):
            some = wanted[start : start + _AT_ONCE]
            marks = ", ".join("?" * len(some))
            known.update(
                self._store.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", some)
            )
        return known
