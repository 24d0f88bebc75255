"""Encoding off the event loop, on a pool that belongs to one kind of work."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from typing import TypeVar

import numpy as np

from seedmem.encode import Encoder
from seedmem.errors import EncoderError, EncoderUnavailableError
from seedmem.vectors import Matrix, VectorSpace
from streams.errors import PermanentError, TransientError
from streams.refusal import Reason, RefusedError

R = TypeVar("R")


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
            TransientError: the encoder is away.
            PermanentError: the encoder refuses until somebody changes a setting.
        """
        if not texts:
            return np.zeros((0, self.space.dim), dtype=np.float32)
        try:
            return await self.run(self._encoder.encode, texts)
        except EncoderUnavailableError as error:
            kind = PermanentError if error.retry_after is None else TransientError
            raise kind(str(error)) from error
        except EncoderError as error:
            raise RefusedError(Reason.TEXT, str(error), field="$.text") from error

    async def run(self, call: Callable[..., R], *args: object) -> R:
        """Return what ``call`` returns; other CPU work of the same kind of events."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call, *args)
