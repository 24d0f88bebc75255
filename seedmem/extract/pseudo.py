"""Questions that a text answers, made without a language model: training pairs without labels."""

from collections.abc import Sequence

from seedmem.extract.keyphrase import KeyphraseExtractor
from seedmem.extract.names import Names
from seedmem.extract.pipeline import english

_TOPICS = 3  # of one text, when it cannot be parsed


def pseudo_queries(texts: Sequence[str], speakers: Sequence[str | None]) -> list[tuple[str, ...]]:
    """Return about four questions for each text that it answers, each once; the same every time.

    With spaCy's model (extra `extract`) they are templates over the parse: when, what, where,
    who and why, with the speaker in place of the first person. Without it they ask what was said
    about the keyphrases.

    Args:
        texts: of one user; a speaker before a turn (``Ada: …``) is cut off.
        speakers: who says each text: a name, ``user``, ``assistant``, or None for the user. When
            there are two names in all, each is the other's "you".

    Raises:
        ValueError: ``texts`` and ``speakers`` differ in length.
    """
    if len(texts) != len(speakers):
        raise ValueError(f"got {len(texts)} texts and {len(speakers)} speakers, want one for each")
    names = [Names.of(speaker, speakers) for speaker in speakers]
    pipeline = english()
    if pipeline is None:
        return _without_parse(texts, names)
    from seedmem.extract.questions import questions

    turns = iter(names)
    return pipeline.read(texts, lambda doc: questions(doc, next(turns)))


def _without_parse(texts: Sequence[str], names: Sequence[Names]) -> list[tuple[str, ...]]:
    found = KeyphraseExtractor().extract(texts)
    return [
        tuple(
            question
            for topic in topics[:_TOPICS]
            for question in (
                f"What did {who.speaker} say about {topic.name}?",
                f"When did {who.speaker} mention {topic.name}?",
            )
        )
        for who, topics in zip(names, found, strict=True)
    ]
