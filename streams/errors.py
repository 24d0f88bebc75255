"""The errors of the service. Each says what was got, what was wanted, and what to do.

StreamsError
├── ConfigError           a setting is unknown or out of range
├── TopicsError           topics are missing, or their partition counts disagree
├── DurabilityError       the Redis server would lose acknowledged writes on a crash
├── ForeignRecordError    stored state names another user than its key
├── TransientError        a dependency is away; the same call may succeed later
│   └── StoreUnavailableError  Redis is away, loading, full or read-only
├── PermanentError        a dependency refuses, and waiting will not help: the process must end
│   ├── StoreRefusedError      Redis refuses us: login, rights, or a key of another type
│   └── StoreLostError         Redis has lost its data
├── DamagedRecordError    a stored record cannot be read
├── SelfTestError         this machine does not run what is installed
├── MissingToolError      a program or package that a command needs is not installed
├── StartError            an embedded server did not start
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


class TransientError(StreamsError):
    """A dependency is away or overloaded; the same call may succeed later."""


class PermanentError(StreamsError):
    """A dependency refuses, and waiting will not help: the process must end."""


class StoreUnavailableError(TransientError):
    """Redis is away, loading, out of memory or read-only; nothing may be acked."""


class StoreRefusedError(PermanentError):
    """Redis refuses us: wrong login, missing rights, or a key that is not ours."""


class StoreLostError(PermanentError):
    """Redis has lost its data: it was flushed, or restarted without its append-only file.

    Operator action: restore the append-only file, or read the input topics again from the start.
    """


class DamagedRecordError(StreamsError):
    """A stored record cannot be read; it is left out, and the user's other records serve."""


class SelfTestError(StreamsError):
    """This machine does not run what is installed on it."""


class MissingToolError(StreamsError):
    """A program or package that a command needs is not installed."""


class StartError(StreamsError):
    """An embedded server did not start. The message ends with the last lines of its log."""


class AnswerTimeout(StreamsError, TimeoutError):  # noqa: N818 - a time-out by name and by nature
    """No reply came within the client's time."""
