"""Subjects by spaCy: named entities, and noun chunks with their nouns as lemmas."""

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from seedmem.extract.pipeline import Pipeline
from seedmem.extract.port import TOPIC, Extracted, worth_keeping

if TYPE_CHECKING:
    from spacy.tokens import Doc, Span, Token

_QUANTITIES = frozenset(
    {"CARDINAL", "DATE", "MONEY", "ORDINAL", "PERCENT", "QUANTITY", "TIME"}
)  # entities that tell how much or when, not what about
_NOUNS = frozenset({"NOUN", "PROPN"})
_DROPPED = frozenset({"DET", "PRON", "PUNCT", "SPACE", "SYM", "INTJ", "PART", "X"})


class SpacyExtractor:
    """Reads subjects off a parsed text. Thread-safe."""

    def __init__(self, pipeline: Pipeline) -> None:
        self._pipeline = pipeline

    def extract(self, texts: Sequence[str]) -> list[tuple[Extracted, ...]]:
        """Return the subjects of each text, entities first, then topics in their order."""
        return self._pipeline.read(texts, subjects_of)


def subjects_of(doc: "Doc") -> tuple[Extracted, ...]:
    """Return the subjects of a parsed text, entities first."""
    return worth_keeping([*_entities(doc), *_topics(doc)])


def _entities(doc: "Doc") -> Iterator[Extracted]:
    for entity in doc.ents:
        words = [token.text for token in entity if token.pos_ not in _DROPPED]
        if words and entity.label_ not in _QUANTITIES:
            yield Extracted(" ".join(words), entity.label_)


def _topics(doc: "Doc") -> Iterator[Extracted]:
    """Yield each noun chunk without its determiners, and its head noun alone."""
    for chunk in doc.noun_chunks:
        if chunk.root.pos_ not in _NOUNS or chunk.root.ent_type_ in _QUANTITIES:
            continue
        yield Extracted(" ".join(_words(chunk)), TOPIC)
        if not chunk.root.is_stop:
            yield Extracted(_base(chunk.root), TOPIC)


def _words(chunk: "Span") -> list[str]:
    return [
        _base(token)
        for token in chunk
        if token.pos_ not in _DROPPED and not token.is_stop and token.ent_type_ not in _QUANTITIES
    ]


def _base(token: "Token") -> str:
    """Return the singular of a noun, and any other word as it stands, in lower case."""
    return (token.lemma_ if token.pos_ in _NOUNS else token.text).lower()
