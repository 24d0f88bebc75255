"""The ``Encoder`` port, and what every implementation does with a text before encoding it."""

from collections.abc import Sequence
from typing import Protocol

from seedmem.errors import EncoderError
from seedmem.text import is_blank, repaired
from seedmem.vectors import Matrix, VectorSpace


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
        if is_blank(text):
            raise EncoderError(
                f"text {position} of {len(texts)} is blank ({len(text)} characters): "
                "nothing in it can be encoded"
            )
    return [repaired(text) for text in texts]
