"""``given:DIM``: vectors come with the events, nothing is encoded here."""

from collections.abc import Sequence
from dataclasses import dataclass

from seedmem.errors import EncoderError
from seedmem.vectors import Matrix, VectorSpace


@dataclass(frozen=True, slots=True)
class GivenEncoder:
    """Names a space whose vectors are made upstream, and refuses to encode."""

    space: VectorSpace

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Raise: there is no model here.

        Raises:
            EncoderError: always.
        """
        raise EncoderError(
            f"{len(texts)} text(s) came without a vector, but the encoder is {self.space}: each "
            "event and query must carry `vector`, or set an encoder that encodes text"
        )
