"""``hash:DIM``: a deterministic stand-in for a model. For tests only: it knows no meaning.

Texts with words in common, or with words of one stem, are near; all others are
almost at right angles. The same text has the same vector on every machine.
"""

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from seedmem.encode.port import readable
from seedmem.vectors import Matrix, Vector, VectorSpace, unit_rows

_WORD = re.compile(r"\w+")
_GRAM = 3  # characters: words of one stem share most of their trigrams


class HashEncoder:
    """Sums a pseudo-random vector per word and per character trigram of each word."""

    def __init__(self, dim: int) -> None:
        self.space = VectorSpace("hash", dim)

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) unit rows. Raises ``EncoderError`` for a blank text."""
        sums = np.zeros((len(texts), self.space.dim), dtype=np.float32)
        for row, text in enumerate(readable(texts)):
            for feature in _features(text):
                sums[row] += _noise(feature, self.space.dim)
        return unit_rows(sums)


def _features(text: str) -> list[str]:
    words = _WORD.findall(text.casefold()) or [text]  # emoji alone are one word
    padded = [f"<{word}>" for word in words]
    return padded + [
        word[start : start + _GRAM] for word in padded for start in range(len(word) - _GRAM + 1)
    ]


def _noise(feature: str, dim: int) -> Vector:
    """Return (d,) numbers in [-127.5, 127.5], none of them 0, that depend on ``feature`` alone."""
    digest = hashlib.shake_128(feature.encode()).digest(dim)
    return np.frombuffer(digest, dtype=np.uint8).astype(np.float32) - 127.5
