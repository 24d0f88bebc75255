"""What a question's own words ask for: keywords, whose memory, a time, a number, the present.

The patterns know English. A question in another language has its keywords, and asks for
nothing special.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import regex

from seedmem.text import Terms, hash_terms, is_question, normal, split_speaker, terms

USERS = frozenset({"user", "human"})
"""Roles of whoever owns the memories."""
ASSISTANTS = frozenset({"assistant", "ai", "bot", "model", "system", "tool"})

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
_HOW_MANY = regex.compile(r"\bhow (?:many|much|long|old|often)\b")
_NOW = regex.compile(
    r"\b(?:now|nowadays|currently|current|these days|at the moment|at present|today|still|latest|"
    r"newest|most recent|most recently)\b"
)
_PRESENT = regex.compile(
    r"^\W*(?:what|which|where|who|how)(?:'s| is| are| am| do| does)\b|^\W*(?:is|are|am|do|does)\b"
)
_PAST = regex.compile(r"\b(?:did|was|were|had|ago|used to|originally|previously|before|first)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question, read."""

    terms: Terms
    """Hashes of its keywords, speakers' names left out."""
    speakers: frozenset[int]
    """Codes of the speakers it asks about."""
    words: str = ""
    """Its text in normal form; empty if it is a remark, which asks for nothing special."""
    when: bool = False
    how_many: bool = False
    present: float = 0.0
    """1 if it asks for what holds now, ½ if its tense suggests so."""


def read(text: str, speakers: Sequence[str]) -> Question:
    """Return what ``text`` asks, where ``speakers`` are names in normal form, by code."""
    words = split_speaker(text)[1]
    folded = normal(words).replace("’", "'")
    last = _SENTENCE_END.split(folded)[-1]
    asks = is_question(words)
    names = {t for name in speakers if name not in USERS | ASSISTANTS for t in terms(name)}
    return Question(
        terms=hash_terms(term for term in terms(words) if term not in names),
        speakers=_asked_about(folded, speakers),
        words=folded if asks else "",
        when=asks and _WHEN.search(last) is not None,
        how_many=asks and _HOW_MANY.search(last) is not None,
        present=_present(last) if asks else 0.0,
    )


def _asked_about(folded: str, speakers: Sequence[str]) -> frozenset[int]:
    said = frozenset(_WORD.findall(folded))
    if _TOLD_BY_ASSISTANT.search(folded):
        meant = ASSISTANTS
    else:
        meant = USERS if _FIRST_PERSON.search(folded) else frozenset()
    roles = USERS | ASSISTANTS
    return frozenset(
        code
        for code, name in enumerate(speakers)
        if (name in meant if name in roles else not said.isdisjoint(_WORD.findall(name)))
    )


def _present(sentence: str) -> float:
    if _NOW.search(sentence):
        return 1.0
    return 0.5 if _PRESENT.search(sentence) and not _PAST.search(sentence) else 0.0
