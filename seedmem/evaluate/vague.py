"""The stratum that the product is for: questions that share no content word with what answers them.

Its own word list and stems, fixed, so that the stratum stays the same when the
keyword index changes. English, as the data sets are.
"""

import re
from collections.abc import Iterable

import Stemmer

from seedmem.text import split_speaker

_WORD = re.compile(r"[a-z]+(?:'[a-z]+)?")
_FUNCTION_WORDS = (
    "a an and are as at be but by for if in into is it no not of on or such that the their then"
    " there these they this to was will with what when where who which why how did do does has"
    " have had"
)


def is_vague(question: str, answers: Iterable[str]) -> bool:
    """Return whether no content stem of ``question`` occurs in ``answers``, ``Name:`` aside."""
    wanted = content_stems(question)
    return all(wanted.isdisjoint(content_stems(split_speaker(text)[1])) for text in answers)


def content_stems(text: str) -> frozenset[str]:
    """Return the Snowball stems of a text's words without function words."""
    stem = Stemmer.Stemmer("english").stemWords
    function_words = frozenset(stem(_FUNCTION_WORDS.split()))
    return frozenset(stem(_WORD.findall(text.lower()))) - function_words
