"""What all encoders behind HTTP share: bounded batches, retries, checked answers, counted cost.

One file per service says how to ask (``openai.py``, ``vertex.py``); when to ask
again, and what an answer must be, is said here only.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from tenacity import RetryCallState, Retrying, retry_if_exception, stop_after_attempt
from tenacity.wait import wait_exponential_jitter

from seedmem.encode.port import readable
from seedmem.errors import EncoderError, EncoderUnavailableError, VectorError
from seedmem.vectors import Matrix, Vector, VectorSpace, unit

_BATCH_CHARACTERS = 30_000  # of one request: Vertex refuses 20,000 tokens, OpenAI far more
_BACK_OFF = wait_exponential_jitter(initial=0.25, max=8.0, jitter=0.25)  # seconds
_LATER = frozenset({408, 425, 429})  # statuses that ask for another try, besides 500 and above
_ACCOUNT = frozenset({401, 402, 403, 404})  # statuses about the key, the bill or the model's name


@dataclass(frozen=True, slots=True, kw_only=True)
class RemoteOptions:
    """How to reach a remote encoder. The shell fills it; the core reads no environment."""

    api_key: str | None = field(default=None, repr=False)
    base_url: str | None = None
    """Address of the service, for example of a proxy; None: the public one."""
    project: str | None = None
    """Vertex only: the cloud project, when no API key is given."""
    location: str = "us-central1"
    """Vertex only: the region."""
    dim: int | None = None
    """Length of the model's vectors. None: ask the service once when the encoder is loaded."""
    timeout: float = 10.0
    """Seconds of one request."""
    attempts: int = 5
    """Requests for one batch, at most."""
    longest_wait: float = 20.0
    """Seconds between two attempts at most, also when the service asks for more."""
    batch_size: int = 64
    """Texts of one request, at most."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a service answered to one request."""

    vectors: Sequence[object]
    """One per text, in their order; not checked yet."""
    tokens: int
    """That the service charges for; 0 when it does not say."""


Ask = Callable[[Sequence[str]], Reply]
"""Sends one request. Raises EncoderError (see ``refused`` and ``malformed``)."""


class RemoteEncoder:
    """An encoder behind HTTP. Thread-safe when ``ask`` is."""

    def __init__(
        self, name: str, ask: Ask, options: RemoteOptions, *, close: Callable[[], None]
    ) -> None:
        """Learn the dimension, from ``options`` or by encoding one word.

        Args:
            name: of the model, for the space.
            ask: sends one request.
            options: when to give up, and how large a request may be.
            close: lets the connections go that ``ask`` uses.

        Raises:
            EncoderError: the service does not answer, or not with vectors.
        """
        self._name, self._ask, self._options = name, ask, options
        self._tokens, self._counting = 0, threading.Lock()
        self.close = close
        try:
            self.space = VectorSpace(name, options.dim or len(self._request(["seed"])[0]))
        except EncoderError:
            close()
            raise

    @property
    def tokens(self) -> int:
        """Tokens charged so far, as the service counted them."""
        return self._tokens

    def encode(self, texts: Sequence[str]) -> Matrix:
        """Return (n, d) unit rows, asking for a bounded batch at a time.

        Raises:
            EncoderError: a text is blank, or has no usable vector in the answer.
            EncoderUnavailableError: the service failed, after the retries that make sense.
        """
        rows = [row for batch in self._batches(readable(texts)) for row in self._request(batch)]
        for row in rows:
            if len(row) != self.space.dim:
                raise EncoderUnavailableError(
                    f"{self._name} gave a vector of {len(row)} components, want {self.space.dim}: "
                    "it serves another model than the one that this space is named after",
                    retry_after=None,
                )
        return np.array(rows, dtype=np.float32).reshape(len(rows), self.space.dim)

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        batch: list[str] = []
        characters = 0
        for text in texts:
            full = len(batch) == self._options.batch_size
            if batch and (full or characters + len(text) > _BATCH_CHARACTERS):
                yield batch
                batch, characters = [], 0
            batch.append(text)
            characters += len(text)
        if batch:
            yield batch

    def _request(self, texts: Sequence[str]) -> list[Vector]:
        retrying = Retrying(
            stop=stop_after_attempt(self._options.attempts),
            retry=retry_if_exception(_may_pass),
            wait=self._wait,
            reraise=True,
        )
        reply = retrying(self._ask, texts)
        with self._counting:
            self._tokens += reply.tokens
        if len(reply.vectors) != len(texts):
            raise malformed(self._name, f"{len(reply.vectors)} vectors for {len(texts)} texts")
        return [self._checked(vector, place) for place, vector in enumerate(reply.vectors)]

    def _checked(self, vector: object, place: int) -> Vector:
        try:
            numbers = np.asarray(vector, dtype=np.float64)  # null becomes NaN
            if numbers.ndim != 1:
                raise VectorError(f"want a list of numbers, got {type(vector).__name__}")
            return unit(numbers)
        except (TypeError, ValueError) as error:
            raise EncoderError(
                f"{self._name} gave no usable vector for text {place} of its batch: {error}"
            ) from error

    def _wait(self, state: RetryCallState) -> float:
        """Return the seconds until the next attempt: as the service asks, or the back-off."""
        error = state.outcome.exception() if state.outcome else None
        asked = (error.retry_after or 0.0) if isinstance(error, EncoderUnavailableError) else 0.0
        return min(max(asked, _BACK_OFF(state)), self._options.longest_wait)


def refused(name: str, status: int, headers: Mapping[str, str], detail: str) -> EncoderError:
    """Return the error of an HTTP ``status`` other than 200.

    ``detail``, the service's own words, is quoted only where it cannot repeat the user's text.
    """
    if status in _LATER or status >= 500:
        return EncoderUnavailableError(
            f"{name} answered {status}", retry_after=_seconds(headers.get("retry-after", ""))
        )
    if status in _ACCOUNT:
        message = f"{name} answered {status}; check key, model and address: {detail[:200]}"
        return EncoderUnavailableError(message, retry_after=None)
    return EncoderError(f"{name} answered {status}: it does not take one of these texts")


def unreachable(name: str, error: Exception) -> EncoderUnavailableError:
    """Return the error of a request that got no whole answer: time-out, dropped connection."""
    return EncoderUnavailableError(
        f"{name} cannot be reached: {type(error).__name__}: {error}", retry_after=0.0
    )


def malformed(name: str, what: str) -> EncoderUnavailableError:
    """Return the error of an answer that is not what the service promises."""
    return EncoderUnavailableError(f"{name} gave a malformed answer: {what}", retry_after=0.0)


def _may_pass(error: BaseException) -> bool:
    return isinstance(error, EncoderUnavailableError) and error.retry_after is not None


def _seconds(header: str) -> float:
    """Return the seconds of a ``Retry-After`` header; 0 when it is missing or a date."""
    try:
        return max(float(header), 0.0)
    except ValueError:
        return 0.0
