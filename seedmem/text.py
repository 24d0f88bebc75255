"""Text as the indexes see it: normal forms, keyword terms, questions, speakers.

Every script counts. Words of scripts with spaces are stemmed (Snowball
English, which leaves other languages nearly alone); scripts without spaces
give their characters' bigrams. Weights live in ``seedmem.user.keyword``.
"""

import re
import threading
import unicodedata
import zlib
from collections.abc import Iterable
from itertools import pairwise

import numpy as np
import regex
import Stemmer
from numpy.typing import NDArray

Terms = NDArray[
    np.uint32
]  # (n,), hashed terms of one text, in text order, repeated as often as used

TERMS_VERSION = 1
"""Raised whenever ``terms`` or ``hash_terms`` changes, so that stored hashes are made again."""

_LONGEST_WORD = 64  # characters; longer runs are noise (keys, base64) and are cut here
_UNSPACED = (
    r"\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}\u30fc\u3005"
)
_INVISIBLE = regex.compile(r"\p{Cf}+")  # zero-width characters, bidi controls, soft hyphens
_SPACE = regex.compile(r"[\s\p{Cc}]+")
_CONTROLS = dict.fromkeys([*range(32), 127], " ")  # the Cc of ASCII
_TOKEN = regex.compile(
    rf"(?V1)(?P<unspaced>[{_UNSPACED}][{_UNSPACED}\p{{M}}]*)"
    rf"|[[\p{{L}}\p{{N}}\p{{M}}]--[{_UNSPACED}]]+(?:'[[\p{{L}}]--[{_UNSPACED}]]+)*"
)
_ASCII_TOKEN = re.compile(r"[a-z0-9]+(?:'[a-z]+)*")  # the same, for what most texts are
_HAN = regex.compile(r"\p{Han}")
_CLITIC = regex.compile(r"^\p{L}'(?=\p{L}{3})|(?:n't|'\p{L}{1,2})$")  # l'amour, don't, Ada's, I'll
_QUESTION = regex.compile(r"[?？؟⸮፧][\s\p{P}\p{S}\p{Cf}]*$")
_SPEAKER = regex.compile(r"\s*(?P<name>(?!\p{Ll})\p{L}[\p{L}\p{M}\p{N}'’._ -]{0,39}):\s+(?=\S)")
_ASCII_SPEAKER = re.compile(  # the same, for what most texts are
    r"\s*(?P<name>[A-Z][A-Za-z0-9'._ -]{0,39}):\s+(?=\S)", re.ASCII
)
_BLANK = frozenset({"Zs", "Zl", "Zp", "Cc", "Cf"})  # Unicode categories
_FUNCTION_WORDS = """
    a an the this that these those and or but nor if then so than as of at by for from in into on
    onto to with about up out off over am is are was were be been being do does did doing done have
    has had having will would shall should can could may might must ca wo i me my mine we us our
    ours you your yours he him his she her hers it its they them their theirs who whom whose which
    what when where why how there here not no just also too very some any all each such only own
    same again now both while because until himself herself themselves itself myself yourself
    ourselves yes yeah oh hey hi hello okay ok really
"""
_STOP_WORDS = frozenset(_FUNCTION_WORDS.split())


class _LocalStemmer(threading.local):
    """A Snowball stemmer keeps scratch space, so each thread has its own."""

    def __init__(self) -> None:
        self._stemmer = Stemmer.Stemmer("english")

    def stem(self, words: list[str]) -> list[str]:
        stems: list[str] = self._stemmer.stemWords(words)
        return stems


_local = _LocalStemmer()


def normal(name: str) -> str:
    """Return the form under which names are equal: NFKC, case folded, one space between words.

    Characters that cannot be seen (zero-width, bidi controls) are dropped.
    """
    if name.isascii():  # most are, and there NFKC changes nothing and nothing is invisible
        return " ".join(name.lower().translate(_CONTROLS).split())
    visible: str = _INVISIBLE.sub("", name)
    folded = unicodedata.normalize("NFKC", visible).casefold()
    spaced: str = _SPACE.sub(" ", unicodedata.normalize("NFKC", folded))
    return spaced.strip()


def terms(text: str) -> list[str]:
    """Return the keyword terms of ``text``, in order, repeats kept.

    Words lose case, clitics, stop words and endings; numbers stay. A run of
    a script without spaces gives its bigrams, and each Han character alone.
    """
    folded = normal(text).replace("’", "'")
    tokens, grams = (_ASCII_TOKEN.findall(folded), []) if folded.isascii() else _tokens(folded)
    words = [_word(t) if "'" in t else t[:_LONGEST_WORD] for t in tokens]
    return _local.stem([word for word in words if word and word not in _STOP_WORDS]) + grams


def _tokens(folded: str) -> tuple[list[str], list[str]]:
    """Return the words of spaced scripts, and the n-grams of the others."""
    words: list[str] = []
    grams: list[str] = []
    for match in _TOKEN.finditer(folded):
        if match.lastgroup == "unspaced":
            grams += _grams(match.group())
        else:
            words.append(match.group())
    return words, grams


def _word(token: str) -> str:
    """Return a token that has an apostrophe without its clitics."""
    word: str = _CLITIC.sub("", token[:_LONGEST_WORD])
    return word


def _grams(run: str) -> list[str]:
    if len(run) == 1:
        return [run]
    return [a + b for a, b in pairwise(run)] + [c for c in run if _HAN.match(c)]


def hash_terms(terms: Iterable[str]) -> Terms:
    """Return the CRC-32 of each term's UTF-8: stable across processes, exact up to four bytes."""
    return np.array(
        [zlib.crc32(term.encode("utf-8", "surrogatepass")) for term in terms], dtype=np.uint32
    )


def is_blank(text: str) -> bool:
    """Return whether ``text`` shows nothing: only spaces, controls, zero-width characters."""
    if text[:1].isalnum():  # nearly always
        return False
    return all(unicodedata.category(character) in _BLANK for character in text)


def repaired(text: str) -> str:
    """Return ``text`` as valid Unicode: a lone surrogate becomes U+FFFD."""
    if text.isascii():
        return text
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def is_question(text: str) -> bool:
    """Return whether ``text`` ends by asking."""
    end = text[-64:]
    if end.isascii() and "?" not in end:
        return False
    return _QUESTION.search(end) is not None


def split_speaker(text: str) -> tuple[str | None, str]:
    """Return (name, rest) of a turn written ``Name: rest``, else (None, ``text``)."""
    if ":" not in text:
        return None, text
    match = (_ASCII_SPEAKER if text.isascii() else _SPEAKER).match(text)
    if match is None:
        return None, text
    return match["name"].strip(), text[match.end() :]
