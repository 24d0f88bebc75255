"""Waiting for a dependency that is away: one policy for the whole service."""

import asyncio
import logging
import random
from collections.abc import Awaitable, Callable
from typing import TypeVar

from streams.errors import TransientError

logger = logging.getLogger(__name__)

FIRST_PAUSE = 0.05  # seconds
LONGEST_PAUSE = 5.0  # seconds; also how long after its return a dependency is used again

R = TypeVar("R")


async def patiently(
    call: Callable[[], Awaitable[R]], *, on: tuple[type[BaseException], ...] = (TransientError,)
) -> R:
    """Return what ``call`` returns, repeating it for as long as it raises one of ``on``.

    ``call`` must be repeatable. Pauses grow from ``FIRST_PAUSE`` to
    ``LONGEST_PAUSE`` with jitter, so that many workers do not come back at once.
    """
    longest = FIRST_PAUSE
    while True:
        try:
            return await call()
        except on as error:
            pause = random.uniform(0.0, longest)
            logger.warning("again in %.2f s: %r", pause, error)
        await asyncio.sleep(pause)
        longest = min(2 * longest, LONGEST_PAUSE)
