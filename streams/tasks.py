"""Tasks that several callers wait for, or none any more."""

import asyncio
from typing import Any


def heard(task: asyncio.Task[Any]) -> None:
    """Take the error of a task that is done, so that asyncio reports none that nobody took."""
    if not task.cancelled():
        task.exception()
