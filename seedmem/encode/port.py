"""The ``Encoder`` port, and what every implementation does with a text before encoding it."""

import unicodedata
from collections.abc import Sequence
from typing import Protocol

from seedmem.errors import EncoderError
from seedmem.vectors import Matrix, VectorSpace

_INVISIBLE = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})
"""Unicode categories of spaces, controls and formats (the zero-width characters)."""


class Encoder(Protocol):
    """Maps texts to the unit vectors of one space."""

    @property
    def space(self) -> VectorSpace:
        """Names the model and its revision: another model is another space."""
        ...

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) unit rows, in the order of ``texts``; (0, d) for no text.

        Blocks, so call it off the event loop; may be called from several threads at once.

        Raises:
            EncoderError: a text is blank (it has no meaning, so it gets no vector), or the
                model failed.
        """
        ...


def readable(texts: Sequence[str]) -> list[str]:
    """Return ``texts`` as valid Unicode: a lone surrogate becomes U+FFFD.

    Raises:
        EncoderError: a text is blank: empty, or only spaces, controls and zero-width characters.
    """
    for position, text in enumerate(texts):
        if all(unicodedata.category(character) in _INVISIBLE for character in text):
            raise EncoderError(
                f"text {position} of {len(texts)} is blank ({len(text)} characters): "
                "nothing in it can be encoded"
            )
    return [
        text
        if text.isascii()
        else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        for text in texts
    ]
