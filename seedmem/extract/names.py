"""Who "I" and "you" are in a turn, when another person asks about it later."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Names:
    """What to write in place of the first and the second person."""

    speaker: str
    """A name, or ``I`` where the asker speaks, or ``you`` where the assistant does."""
    other: str

    @classmethod
    def of(cls, speaker: str | None, speakers: Sequence[str | None]) -> "Names":
        """Return the names in a turn of ``speaker``, one of the conversation's ``speakers``."""
        if speaker is None or speaker.casefold() == "user":
            return cls("I", "you")
        if speaker.casefold() == "assistant":
            return cls("you", "I")
        others = sorted({other for other in speakers if other} - {speaker})
        return cls(speaker, others[0] if len(others) == 1 else "they")

    def instead_of(self, pronoun: str) -> str | None:
        """Return what ``pronoun``, in lower case, becomes; None when it stays as it is."""
        if pronoun in _FIRST:
            return _case(self.speaker, pronoun in _FIRST_POSSESSIVE)
        if pronoun in _SECOND:
            return _case(self.other, pronoun in _SECOND_POSSESSIVE)
        return None


_FIRST_POSSESSIVE = frozenset({"my", "mine", "our", "ours"})
_FIRST = _FIRST_POSSESSIVE | {"i", "me", "myself", "we", "us", "ourselves"}
_SECOND_POSSESSIVE = frozenset({"your", "yours"})
_SECOND = _SECOND_POSSESSIVE | {"you", "yourself", "ya", "u"}
_POSSESSIVE = {"I": "my", "you": "your", "they": "their"}


def _case(name: str, possessive: bool) -> str:
    return _POSSESSIVE.get(name, f"{name}'s") if possessive else name
