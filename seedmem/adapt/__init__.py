"""Serve a user's query adapter: its forward pass in numpy and its stored form.

Training lives in ``seedmem.learn``; nothing here imports torch.
"""

from seedmem.adapt.adapter import Activation, Adapter
from seedmem.adapt.format import from_bytes, to_bytes

__all__ = ["Activation", "Adapter", "from_bytes", "to_bytes"]
