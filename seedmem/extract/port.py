"""The ``Extractor`` port, and which names are worth keeping whoever found them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from seedmem.text import normal

TOPIC = "topic"
"""Type of a subject that is no named entity."""

_MOST = 10  # subjects of one text
_LONGEST = 5  # words of a name
_INTERJECTIONS = """
    absolutely aw awesome aww bye cheers congrats congratulation congratulations cool definitely
    exactly good goodbye great haha hello hey hi lol nice no oh ok okay please sorry sure thank
    thanks totally welcome whoa wow yay yeah yep yes
    """
_EMPTY_NOUNS = """
    anything bit day everything kind lot one ones other others place someone something sort stuff
    thing things time times way week year month today tomorrow tonight yesterday moment
    """
SMALL_TALK = frozenset(_INTERJECTIONS.split())
_EMPTY = frozenset(_EMPTY_NOUNS.split())


@dataclass(frozen=True, slots=True)
class Extracted:
    """Something that a text is about."""

    name: str
    type: str | None
    """A label such as ``PERSON`` or ``GPE``, ``topic``, or None when it is not known."""


class Extractor(Protocol):
    """Finds the subjects of texts."""

    def extract(self, texts: Sequence[str]) -> list[tuple[Extracted, ...]]:
        """Return the subjects of each text: at most ten, no two of one normal form.

        The name before a turn (``Ada: …``) is not a subject; a blank text has none. Blocks,
        so call it off the event loop; may be called from several threads at once.
        """
        ...


def worth_keeping(found: Iterable[Extracted]) -> tuple[Extracted, ...]:
    """Return the first ten of ``found`` that say something, each name once, in their order."""
    kept: dict[str, Extracted] = {}
    for subject in found:
        name = normal(subject.name)
        if name not in kept and _says_something(name.split()):
            kept[name] = subject
        if len(kept) == _MOST:
            break
    return tuple(kept.values())


def _says_something(words: Sequence[str]) -> bool:
    if not 0 < len(words) <= _LONGEST or len("".join(words)) < 2:
        return False
    return any(
        word not in SMALL_TALK and word not in _EMPTY and any(map(str.isalpha, word))
        for word in words
    )
