"""Encoding off the event loop, on a pool that belongs to one kind of work."""

import asyncio
from collections.abc import Sequence
from concurrent.futures import Executor

import numpy as np

from seedmem.encode import Encoder
from seedmem.errors import EncoderError
from seedmem.vectors import Matrix, VectorSpace
from streams.refusal import Reason, RefusedError


class Embedder:
    """Encodes texts on ``pool``."""

    def __init__(self, encoder: Encoder, pool: Executor) -> None:
        self._encoder, self._pool = encoder, pool

    @property
    def space(self) -> VectorSpace:
        """The space of every vector that it returns."""
        return self._encoder.space

    async def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) unit rows.

        Raises:
            RefusedError: one of the texts cannot be encoded.
        """
        if not texts:
            return np.zeros((0, self.space.dim), dtype=np.float32)
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._pool, self._encoder.encode, texts)
        except EncoderError as error:
            raise RefusedError(Reason.TEXT, str(error), field="$.text") from error
