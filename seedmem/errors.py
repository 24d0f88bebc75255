"""The errors of the core.

SeedmemError
├── ShapeError            an array has another shape than its place demands
├── VectorError           a vector that cannot be compared: wrong length, NaN, infinite, zero
├── EncoderError          an encoder cannot be loaded, or failed on a text
│   └── EncoderUnavailableError   it failed, and not because of the text
├── DataError             a data file of conversations does not have the form it should
├── SnapshotError         stored bytes are damaged or belong to something else
├── AdapterError          an adapter's weights or stored bytes cannot be trusted
└── SupervisionError      pairs or settings that no adapter can be fitted on
"""


class SeedmemError(Exception):
    """Base of every error that this library raises on purpose."""


class ShapeError(SeedmemError, ValueError):
    """An array has another shape than its place demands."""

    def __init__(self, name: str, *, got: object, want: object) -> None:
        super().__init__(f"{name}: got shape {got}, want {want}")


class VectorError(SeedmemError, ValueError):
    """A vector has the wrong length, a non-finite component, or no direction."""


class EncoderError(SeedmemError):
    """An encoder cannot be loaded, or failed on a text."""


class EncoderUnavailableError(EncoderError):
    """A remote encoder failed, and not because of the text: the event must wait, not be refused."""

    def __init__(self, message: str, *, retry_after: float | None) -> None:
        """Keep ``retry_after``: seconds until another try may succeed.

        None: not before somebody mends the configuration (key, model name, dimension).
        """
        super().__init__(message)
        self.retry_after = retry_after


class DataError(SeedmemError, ValueError):
    """A data file of conversations does not have the form it should; names the line."""


class SnapshotError(SeedmemError):
    """Stored bytes are damaged, or belong to another user, space or format."""


class AdapterError(SeedmemError):
    """An adapter's weights or stored bytes cannot be trusted: damaged, hostile, stale or foreign.

    What to do: serve the version before it, or ``Adapter.identity``; the answer must still come.
    """


class SupervisionError(SeedmemError):
    """Pairs or settings that no adapter can be fitted on; the current adapter stays."""
