"""How records are fetched: a question must not wait behind a backlog of memories.

aiokafka has one request in flight to a broker. A partition whose records are not all taken
yet is left out of it, and what comes there meanwhile waits until that request returns. Faust
lets the broker hold a request for 1.5 s while it has nothing for it: in a flood a hundredth
of the questions waited that long. And while records wait to be taken, aiokafka holds the next
request back for 0.1 s, which half the questions then waited.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, cast

import faust
from faust.transport.drivers import aiokafka as driver
from faust.types import TP
from faust.types.transports import ConsumerT

LONGEST = 50  # ms that a broker holds a request; an idle worker asks 20 times a second
BACKOFF = 0.02  # seconds that a request is held back while records of its broker wait here

_OPTIONS = {"_fetch_max_wait_ms": LONGEST, "_prefetch_backoff": BACKOFF}  # neither is a setting


class _Thread(driver.AIOKafkaConsumerThread):
    async def on_start(self) -> None:
        await super().on_start()
        fetcher = cast(Any, self._consumer)._fetcher
        for name, value in _OPTIONS.items():
            getattr(fetcher, name)  # raises where aiokafka does not know it any more
            setattr(fetcher, name, value)

    async def seek_to_committed(self) -> Mapping[TP, int]:
        """Go back also where nothing is committed yet: aiokafka stays where it is there.

        In a rebalance Faust drops what it has fetched, and reads it again from here. The first
        events of a partition would be lost.
        """
        committed = await super().seek_to_committed()
        if fresh := [place for place, offset in committed.items() if not offset or offset < 0]:
            await self.seek_to_beginning(*fresh)
        return committed


class _Consumer(driver.Consumer):
    def _new_consumer_thread(self) -> driver.AIOKafkaConsumerThread:
        return _Thread(self, loop=self.loop, beacon=self.beacon)


class _Transport(driver.Transport):
    Consumer: ClassVar[type[ConsumerT]] = _Consumer


def fetch_promptly(app: faust.App) -> None:
    """Have ``app``, which is not started, fetch with the figures above."""
    app.transport = _Transport(app.conf.broker_consumer, app)
