"""Logging of a worker: one line a record, and no flood while a dependency is away."""

import logging
import time
from collections.abc import Callable

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LINES = 3  # of one template, in ...
PERIOD = 10.0  # ... so many seconds; aiokafka can log 2,000 a second while a broker is away


class RateLimit(logging.Filter):
    """Lets through ``LINES`` records of one logger and template per ``PERIOD``."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether ``record`` may be written."""
        now, key = self._clock(), (record.name, str(record.msg)[:80])
        since, count = self._seen.get(key, (now, 0))
        if now - since >= PERIOD:
            since, count = now, 0
        if len(self._seen) > 1_000:  # templates that are not constant must not fill the memory
            self._seen.clear()
        self._seen[key] = (since, count + 1)
        return count < LINES


def configure(level: int = logging.INFO) -> None:
    """Log to standard error, rate-limited."""
    handler = logging.StreamHandler()
    handler.addFilter(RateLimit())
    logging.basicConfig(format=FORMAT, level=level, handlers=[handler], force=True)
    for chatty in ("aiokafka", "kafka", "faust", "mode"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.getLogger("mode.timers").setLevel(logging.ERROR)  # a late commit timer is no news
