"""What a question's own words ask for: keywords, whose memory, a time, the present.

The patterns know English. A question in another language has its keywords, and asks for
nothing special.
"""

from collections.abc import Sequence
from functools import cached_property

import regex

from seedmem.text import Terms, hash_terms, is_question, normal, split_speaker, terms

USERS = frozenset({"user", "human"})
"""Roles of whoever owns the memories."""
ASSISTANTS = frozenset({"assistant", "ai", "bot", "model", "system", "tool"})
_ROLES = USERS | ASSISTANTS

_WORD = regex.compile(r"[\p{L}\p{M}\p{N}]+")
_SENTENCE_END = regex.compile(r"[.!?]\s+")
_FIRST_PERSON = regex.compile(r"\b(?:i|my|me|mine|myself|we|our|us)\b")
_TOLD_BY_ASSISTANT = regex.compile(
    r"\byou(?:'ve)? (?:said|told|recommended|suggested|mentioned|gave|advised|explained|listed)\b"
    r"|\bdid you (?:say|tell|recommend|suggest|mention|give|advise|explain|list)\b"
)
_WHEN = regex.compile(
    r"^\W*(?:since )?when\b|\b(?:what|which) (?:date|day|month|year|time)\b|\bhow long\b"
)
_NOW = regex.compile(
    r"\b(?:now|nowadays|currently|current|these days|at the moment|at present|today|still|latest|"
    r"newest|most recent|most recently)\b"
)
_PRESENT = regex.compile(
    r"^\W*(?:what|which|where|who|how)(?:'s| is| are| am| do| does)\b|^\W*(?:is|are|am|do|does)\b"
)
_PAST = regex.compile(r"\b(?:did|was|were|had|ago|used to|originally|previously|before|first)\b")


class Question:
    """A question, read as far as it is asked about."""

    def __init__(self, text: str, speakers: Sequence[str]) -> None:
        """Take ``text``, and the names of who speaks in the memories: in normal form, by code."""
        self._text = split_speaker(text)[1]
        self._speakers = speakers

    @cached_property
    def terms(self) -> Terms:
        """Hashes of its keywords, speakers' names left out."""
        names = {t for name in self._speakers if name not in _ROLES for t in terms(name)}
        return hash_terms(term for term in terms(self._text) if term not in names)

    @cached_property
    def speakers(self) -> frozenset[int]:
        """Codes of the speakers it asks about."""
        said = frozenset(_WORD.findall(self._folded))
        meant = self._meant_roles()
        return frozenset(
            code
            for code, name in enumerate(self._speakers)
            if (name in meant if name in _ROLES else not said.isdisjoint(_WORD.findall(name)))
        )

    @cached_property
    def words(self) -> str:
        """Its text in normal form; empty if it is a remark, which asks for nothing special."""
        return self._folded if is_question(self._text) else ""

    @property
    def when(self) -> bool:
        """Whether it asks for a time."""
        return _WHEN.search(self._last) is not None

    @property
    def present(self) -> float:
        """1 if it asks for what holds now, ½ if its tense suggests so, else 0."""
        if _NOW.search(self._last):
            return 1.0
        return 0.5 if _PRESENT.search(self._last) and not _PAST.search(self._last) else 0.0

    @cached_property
    def _folded(self) -> str:
        return normal(self._text).replace("’", "'")

    @cached_property
    def _last(self) -> str:
        """The last sentence of a question."""
        last: str = _SENTENCE_END.split(self.words)[-1]
        return last

    def _meant_roles(self) -> frozenset[str]:
        if _TOLD_BY_ASSISTANT.search(self._folded):
            return ASSISTANTS
        return USERS if _FIRST_PERSON.search(self._folded) else frozenset()
