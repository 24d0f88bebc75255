"""Serve a user's query adapter and lexicon: forward passes in numpy, and the stored form.

Training lives in ``seedmem.learn``; nothing here imports torch.
"""

from seedmem.adapt.adapter import Activation, Adapter
from seedmem.adapt.format import from_bytes, to_bytes
from seedmem.adapt.lexicon import Lexicon

__all__ = ["Activation", "Adapter", "Lexicon", "from_bytes", "to_bytes"]
