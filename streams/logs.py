"""Logging of a worker: one line a record, and no flood while a dependency is away."""

import json
import logging
import re
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Literal

FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
LINES = 3  # of one template, in ...
PERIOD = 10.0  # ... so many seconds; aiokafka can log 2,000 a second while a broker is away

_NUMBER = re.compile(r"\d[\d.]*")


class RateLimit(logging.Filter):
    """Lets through ``LINES`` records of one logger and template per ``PERIOD``.

    Templates that differ in their numbers alone count as one: libraries write "again in 0.37 s".
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__()
        self._clock = clock
        self._seen: dict[tuple[str, str], tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        """Return whether ``record`` may be written."""
        now, key = self._clock(), (record.name, _NUMBER.sub("#", str(record.msg))[:80])
        since, count = self._seen.get(key, (now, 0))
        if now - since >= PERIOD:
            since, count = now, 0
        if len(self._seen) > 1_000:  # templates that are not constant must not fill the memory
            self._seen.clear()
        self._seen[key] = (since, count + 1)
        return count < LINES


class JsonFormatter(logging.Formatter):
    """One JSON object a record: time (ISO 8601, UTC), level, logger, message, error."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the object in one line; ``error`` is the trace of what was raised, or absent."""
        written = datetime.fromtimestamp(record.created, UTC)
        line = {
            "time": written.isoformat(timespec="milliseconds"),
            "level": record.levelname,
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = self.formatException(record.exc_info)
        return json.dumps(line)


def configure(form: Literal["text", "json"] = "text") -> None:
    """Log to standard error, rate-limited."""
    handler = logging.StreamHandler()
    handler.addFilter(RateLimit())
    handler.setFormatter(JsonFormatter() if form == "json" else logging.Formatter(FORMAT))
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
    for chatty in ("aiokafka", "kafka", "faust", "mode"):
        logging.getLogger(chatty).setLevel(logging.WARNING)
    logging.getLogger("mode.timers").setLevel(logging.ERROR)  # a late commit timer is no news
