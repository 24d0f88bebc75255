"""Text → unit vectors: the ``Encoder`` port and its implementations, one file each.

Heavy libraries are imported by the file that needs them, when it is needed.
Queues, thread pools and retries of whole events are not here (``streams``).
"""

from seedmem.encode.load import load_encoder
from seedmem.encode.port import Encoder
from seedmem.encode.remote import RemoteOptions

__all__ = ["Encoder", "RemoteOptions", "load_encoder"]
