"""At least once: read, admit, apply, make durable, ack in offset order.

One agent is two tasks around one bounded queue: a pump that reads the stream
without acking, and a worker that applies what it read and then acks, in the
order in which the events came. Faust commits past a single un-acked event, so
that order is what keeps a kill from losing one. An exception that left an agent
would do the same, so none does: a bad event is buried, a missing dependency is
waited for, and what would stop a task ends the process; its successor reads the
un-acked events again.
"""

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from typing import Any, TypeVar, cast

import faust
from faust.types import EventT, StreamT

from streams import metrics, tracing
from streams.errors import PermanentError
from streams.events import Event
from streams.intake import Intake, Received
from streams.patience import patiently
from streams.progress import Partition, Progress
from streams.refusal import Reason, RefusedError
from streams.window import Window

logger = logging.getLogger(__name__)

ATTEMPTS = 3  # of a handler that fails on one event alone, before the event is buried
LAST_WORDS = 5.0  # seconds that events in flight get when the worker stops

E = TypeVar("E", bound=Event)
T = TypeVar("T")
Raw = EventT[bytes]
Outcome = Sequence[RefusedError | None] | None  # why each event was refused; None: none was
Stream = StreamT[bytes]


class Delivery:
    """What all agents of one worker share."""

    def __init__(self, app: faust.App, intake: Intake, progress: Progress) -> None:
        self._app, self._intake, self._progress = app, intake, progress

    async def in_batches(
        self,
        stream: Stream,
        prepare: Callable[[Received[E]], T],
        apply: Callable[[Sequence[T]], Awaitable[Outcome]],
        *,
        kind: type[E],
        size: int,
        within: float,
    ) -> None:
        """Apply the events of ``stream`` in batches, each durable before it is acked.

        Args:
            prepare: turns an event into what ``apply`` takes; raises ``RefusedError``.
            apply: makes a batch durable; returns what it refuses. It may be called again.
            kind: the event type of the topic.
            size: most events of a batch.
            within: seconds that a batch waits to fill.
        """
        buffer: asyncio.Queue[Raw] = asyncio.Queue(maxsize=2 * size)

        async def pump() -> None:
            async for raw in _unacked(stream):
                await buffer.put(raw)

        async def work() -> None:
            async for batch in _batches(buffer, size=size, within=within):
                mine = [raw for raw in batch if self._is_current(raw)]
                ready = []
                for raw in mine:
                    if (received := await self._admitted(raw, kind, prepare)) is not None:
                        ready.append((raw, received))
                with tracing.processing([raw.message for raw, _ in ready]):
                    await self._apply(ready, apply)
                for raw in mine:
                    self._ack(raw)

        await self._together(pump(), work())

    async def each(
        self,
        stream: Stream,
        handle: Callable[[Received[E]], Awaitable[None]],
        refuse: Callable[[Raw, RefusedError], Awaitable[None]],
        *,
        kind: type[E],
        in_flight: int,
    ) -> None:
        """Handle the events of ``stream`` side by side, acked in their order.

        Args:
            handle: sees each admitted event and keeps its own deadline.
            refuse: sees each event that was buried.
            kind: the event type of the topic.
            in_flight: most events between the oldest un-acked and the newest.
        """
        window: Window[Raw] = Window(in_flight, self._ack)

        async def pump() -> None:
            async for raw in _unacked(stream):
                if self._is_current(raw):
                    one = self._handle(raw, kind, handle, refuse)
                    await window.add(raw, asyncio.create_task(one))

        await self._together(pump(), window.run())
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_WORDS):
                await window.drain()

    async def _handle(
        self,
        raw: Raw,
        kind: type[E],
        handle: Callable[[Received[E]], Awaitable[None]],
        refuse: Callable[[Raw, RefusedError], Awaitable[None]],
    ) -> None:
        try:
            with tracing.processing([raw.message]):
                await handle(self._intake.admit(raw, kind))
            metrics.applied(raw.message.topic, raw.message.timestamp)
            return
        except RefusedError as error:
            refusal = error
        except Exception as error:
            logger.exception("handler failed")
            refusal = RefusedError(Reason.HANDLER, repr(error))
        await self._intake.bury(raw, refusal)
        try:
            await refuse(raw, refusal)
        except Exception:  # the event is buried; a fault while saying so must not stop the others
            logger.exception("a refusal could not be told")

    async def _admitted(
        self, raw: Raw, kind: type[E], prepare: Callable[[Received[E]], T]
    ) -> T | None:
        """Return the prepared event, or None when it was buried."""
        try:
            return prepare(self._intake.admit(raw, kind))
        except RefusedError as error:
            refusal = error
        except Exception as error:
            logger.exception("an event could not be prepared")
            refusal = RefusedError(Reason.HANDLER, repr(error))
        await self._intake.bury(raw, refusal)
        return None

    async def _apply(
        self, ready: Sequence[tuple[Raw, T]], apply: Callable[[Sequence[T]], Awaitable[Outcome]]
    ) -> None:
        """Apply all of ``ready``; an event that spoils its batch is found and buried."""
        if not ready:
            return
        items = [item for _, item in ready]
        found = await _tried(apply, items)
        for _ in range(ATTEMPTS - 1 if len(ready) == 1 else 0):
            if isinstance(found, RefusedError) and found.reason is Reason.HANDLER:
                found = await _tried(apply, items)
        if isinstance(found, RefusedError) and len(ready) > 1:
            half = len(ready) // 2
            await self._apply(ready[:half], apply)
            await self._apply(ready[half:], apply)
            return
        refusals = [found] if isinstance(found, RefusedError) else found or [None] * len(ready)
        for (raw, _), refusal in zip(ready, refusals, strict=True):
            if refusal is not None:
                await self._intake.bury(raw, refusal)
            else:
                metrics.applied(raw.message.topic, raw.message.timestamp)

    def _is_current(self, raw: Raw) -> bool:
        """Whether the partition has stayed ours since the event was read."""
        return bool(raw.message.generation_id == self._app.consumer_generation_id)

    def _ack(self, raw: Raw) -> None:
        if self._is_current(raw):
            raw.ack()
            message = raw.message
            self._progress.advance(Partition(message.topic, message.partition), message.offset)

    async def _together(self, *coroutines: Coroutine[Any, Any, None]) -> None:
        """Run all until the app stops; should one end by itself, end the process.

        A stopping app cancels its agents, and starts one again that ends with
        ``CancelledError``: so this returns instead.
        """
        tasks = [asyncio.create_task(coroutine) for coroutine in coroutines]
        try:
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            if not self._app.should_stop:
                raise
            done = set()
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
        error = next((task.exception() for task in done), None)
        if not self._app.should_stop:
            end_process(f"an agent ended: {error or 'its stream is over'}", error)


def _unacked(stream: Stream) -> AsyncIterator[Raw]:
    """Read ``stream`` without acking what was read."""
    return aiter(cast(faust.Stream[bytes], stream).noack().events())


def end_process(why: str, error: BaseException | None = None) -> None:
    """End this process at once with exit code 1, un-acked events left to its successor."""
    logger.critical("the worker ends: %s", why, exc_info=error)
    logging.shutdown()
    os._exit(1)


async def _tried(
    apply: Callable[[Sequence[T]], Awaitable[Outcome]], items: Sequence[T]
) -> Outcome | RefusedError:
    """Return what ``apply`` returns, or why it failed for good."""
    try:
        return await patiently(lambda: apply(items))
    except PermanentError:
        raise
    except RefusedError as error:
        return error
    except Exception as error:
        logger.exception("handler failed")
        return RefusedError(Reason.HANDLER, repr(error))


async def _batches(
    buffer: asyncio.Queue[Raw], *, size: int, within: float
) -> AsyncIterator[list[Raw]]:
    """Yield what comes within ``within`` seconds of a first event, at most ``size`` at a time."""
    clock = asyncio.get_running_loop().time
    while True:
        batch = [await buffer.get()]
        until = clock() + within
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout_at(until):
                while len(batch) < size:
                    batch.append(await buffer.get())
        yield batch
