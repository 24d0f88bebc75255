"""From an event's vector, or its text, to a vector of this service's space."""

from seedmem.errors import VectorError
from seedmem.text import is_blank
from seedmem.vectors import Vector, VectorSpace, from_wire
from streams.events import Wire
from streams.refusal import Reason, RefusedError


def given_vector(wire: Wire | None, encoder: str | None, space: VectorSpace) -> Vector | None:
    """Return the vector that an event carries, or None when it carries none.

    Raises:
        RefusedError: it comes from another encoder, or cannot be compared.
    """
    if wire is None:
        return None
    if encoder is not None and encoder != space.encoder:
        detail = f"vector comes from encoder {encoder!r}, this service holds {space}"
        raise RefusedError(Reason.SPACE, detail, field="$.encoder")
    try:
        return from_wire(wire, space.dim)
    except VectorError as error:
        raise RefusedError(Reason.VECTOR, str(error), field="$.vector") from error


def check_text(text: str, *, field: str) -> None:
    """Raise ``RefusedError`` when there is nothing to see in ``text``."""
    if is_blank(text):
        raise RefusedError(
            Reason.TEXT, f"{len(text)} characters, none of them visible", field=field
        )
