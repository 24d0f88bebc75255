"""``st:``: any sentence-transformers model, from a directory or the hub. Needs the extra `hub`."""

import threading
from collections.abc import Sequence

import numpy as np

from seedmem.encode.hub import resolve
from seedmem.encode.port import readable
from seedmem.errors import EncoderError
from seedmem.vectors import Matrix, VectorSpace, unit_rows

_WANTED = (
    "*.json",
    "*.txt",
    "*.model",  # sentencepiece
    "*.safetensors",
    "pytorch_model.bin",
    "[0-9]_*/*",  # pooling, dense, normalisation
)


class SentenceTransformersEncoder:
    """A sentence-transformers model on the CPU. Calls from several threads take turns."""

    def __init__(self, where: str, *, threads: int = 1) -> None:
        """Load the model at ``where``: a directory, or ``ORG/MODEL[@REVISION]``.

        Args:
            where: as ``seedmem.encode.hub.resolve`` reads it.
            threads: for all torch work of this process.

        Raises:
            EncoderError: the extra is not installed, or the model cannot be found or loaded.
        """
        try:
            import torch
            from sentence_transformers import SentenceTransformer
        except ImportError as error:
            raise EncoderError(
                f"st:{where} needs the extra `hub` ({error}): pip install 'seedmem[hub]'"
            ) from error
        found = resolve(where, wanted=_WANTED)
        torch.set_num_threads(threads)
        try:
            self._model = SentenceTransformer(
                str(found.directory), device="cpu", local_files_only=True
            )
        except (OSError, ValueError, KeyError) as error:
            raise EncoderError(f"st:{where} is no model that can be loaded: {error}") from error
        self._turn = threading.Lock()  # its tokenizer must not be used by two threads at once
        self.space = VectorSpace(f"st:{found.name}", self._encode(["seed"]).shape[1])

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) unit rows. Raises ``EncoderError`` for a blank text."""
        checked = readable(texts)
        if not checked:
            return np.empty((0, self.space.dim), dtype=np.float32)
        return self._encode(checked)

    def _encode(self, texts: list[str]) -> Matrix:
        with self._turn:
            return unit_rows(self._model.encode(texts, batch_size=32, show_progress_bar=False))
