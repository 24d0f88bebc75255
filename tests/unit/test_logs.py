"""A worker's log: one line a record, also in JSON, and no flood while a dependency is away."""

import json
import logging
import sys

from streams.logs import LINES, PERIOD, JsonFormatter, RateLimit


def record(message, *arguments, error=None):
    return logging.LogRecord("streams.x", logging.WARNING, "x.py", 1, message, arguments, error)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def test_a_record_is_one_json_object_in_one_line():
    line = JsonFormatter().format(record("dead letter: %s[%d]@%d\n\ud83d", "memory-created", 3, 7))

    found = json.loads(line)
    assert "\n" not in line
    assert found.pop("time").endswith("+00:00")
    assert found.pop("message") == "dead letter: memory-created[3]@7\n\ud83d"
    assert found == {"level": "WARNING", "logger": "streams.x"}


def test_what_was_raised_is_in_the_same_line():
    try:
        raise ValueError("as planned")
    except ValueError:
        line = JsonFormatter().format(record("handler failed", error=sys.exc_info()))

    assert "\n" not in line
    assert json.loads(line)["error"].endswith("ValueError: as planned")


def test_a_flood_is_cut_down_until_its_period_is_over():
    clock = Clock()
    limit = RateLimit(clock)

    first = [limit.filter(record(f"again in {n / 7} seconds")) for n in range(1_000)]
    other = limit.filter(record("Redis is away: %s", "refused"))
    clock.now += PERIOD
    later = limit.filter(record("again in 3 seconds"))

    assert sum(first) == LINES
    assert other
    assert later
