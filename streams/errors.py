"""The errors of the service. Each says what was got, what was wanted, and what to do.

StreamsError
├── ConfigError           a setting is unknown or out of range
├── TopicsError           topics are missing, or their partition counts disagree
├── DurabilityError       the Redis server would lose acknowledged writes on a crash
├── ForeignRecordError    stored state names another user than its key
├── MissingToolError      a program or package that a command needs is not installed
└── AnswerTimeout         no reply came within the client's time
"""


class StreamsError(Exception):
    """Base of every error that the service raises on purpose."""


class ConfigError(StreamsError, ValueError):
    """A setting is unknown or out of range."""


class TopicsError(StreamsError):
    """Topics are missing, or their partition counts disagree."""


class DurabilityError(StreamsError):
    """The Redis server would lose acknowledged writes on a crash."""


class ForeignRecordError(StreamsError):
    """Stored state names another user than its key; it is never served."""


class MissingToolError(StreamsError):
    """A program or package that a command needs is not installed."""


class AnswerTimeout(StreamsError, TimeoutError):  # noqa: N818 - a time-out by name and by nature
    """No reply came within the client's time."""
