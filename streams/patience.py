"""Waiting for a dependency that is away: one policy for the whole service."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

import tenacity

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
    async for attempt in tenacity.AsyncRetrying(
        retry=tenacity.retry_if_exception_type(on),
        wait=tenacity.wait_random_exponential(multiplier=FIRST_PAUSE, max=LONGEST_PAUSE),
        before_sleep=tenacity.before_sleep_log(logger, logging.WARNING),
    ):
        with attempt:
            return await call()
    raise AssertionError("unreachable: the loop above ends by return or raise")
