"""Text → what it is about, and the questions it answers. No language model, no network.

Heavy libraries are imported by the file that needs them, when it is needed.
Events are not made here (``streams``).
"""

from seedmem.extract.load import load_extractor
from seedmem.extract.port import Extracted, Extractor
from seedmem.extract.pseudo import pseudo_queries

__all__ = ["Extracted", "Extractor", "load_extractor", "pseudo_queries"]
