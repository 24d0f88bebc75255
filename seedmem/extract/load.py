"""The best extractor that this machine has."""

from seedmem.extract.keyphrase import KeyphraseExtractor
from seedmem.extract.pipeline import english
from seedmem.extract.port import Extractor


def load_extractor() -> Extractor:
    """Return the spaCy extractor if its model is installed (extra `extract`), else keyphrases."""
    pipeline = english()
    if pipeline is None:
        return KeyphraseExtractor()
    from seedmem.extract.spacy import SpacyExtractor

    return SpacyExtractor(pipeline)
