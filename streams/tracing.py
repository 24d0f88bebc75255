"""Spans of OpenTelemetry from a produced event to its reply, joined by Kafka's headers.

Off until ``start``: no header is read or written. A span holds no text and no user id: the
user is the hash that names the user's keys in Redis too.
"""

import atexit
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from hashlib import blake2b
from typing import TYPE_CHECKING, Protocol

from streams.errors import MissingToolError
from streams.settings import Settings
from streams.wire import key_of

if TYPE_CHECKING:
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Span, Tracer

LAST_SPANS = 2.0  # seconds that sending them may hold up the end of the process

Headers = list[tuple[str, bytes]]
Attributes = dict[str, str | int]


class Consumed(Protocol):
    """As much of Faust's message as a span tells."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    headers: list[tuple[str, bytes]] | Mapping[str, bytes] | None


_tracer: "Tracer | None" = None


def start(settings: Settings, service: str) -> None:
    """Trace this process from now on, if ``settings.tracing``.

    Spans go where the application sends its own. In a process without a provider they go where
    OTEL_EXPORTER_OTLP_ENDPOINT and the other OTEL_* variables say, over OTLP and HTTP, as
    ``service`` unless OTEL_SERVICE_NAME names it otherwise.

    Raises:
        MissingToolError: OpenTelemetry is not installed.
    """
    global _tracer  # noqa: PLW0603 - one for the process, as OpenTelemetry's own
    if not settings.tracing or _tracer is not None:
        return
    try:
        from opentelemetry import trace

        if isinstance(trace.get_tracer_provider(), trace.ProxyTracerProvider):
            trace.set_tracer_provider(_provider(service))
    except ImportError as error:
        raise MissingToolError(
            f"SEEDMEM_TRACING needs OpenTelemetry ({error}): pip install 'seedmem[tracing]'"
        ) from error
    _tracer = trace.get_tracer("seedmem")
    atexit.register(flush)


def flush() -> None:
    """Send the spans that wait. A collector that is away holds nobody up for long."""
    if _tracer is None:
        return
    from opentelemetry import trace

    send = getattr(trace.get_tracer_provider(), "force_flush", None)
    if send is not None:
        sending = threading.Thread(target=send, name="last spans", daemon=True)
        sending.start()
        sending.join(LAST_SPANS)


@contextmanager
def asking(user_id: str) -> Iterator[None]:
    """Trace a question as its asker sees it, until the reply is there."""
    with _span("ask", "CLIENT", _user(key_of(user_id))):
        yield


@contextmanager
def sending(topic: str, key: bytes | None) -> Iterator[Headers]:
    """Trace one produced event; gives the headers that it must carry."""
    with _span(f"send {topic}", "PRODUCER", _of(topic, key)):
        yield [] if _tracer is None else _injected()


@contextmanager
def processing(messages: Sequence[Consumed]) -> Iterator[None]:
    """Trace consumed events until they are applied, each below the span that sent it.

    What is sent meanwhile is below the event's span where there is one event, as for a query.
    """
    if _tracer is None:
        yield
        return
    spans = [_started(_tracer, message) for message in messages]
    try:
        with _current(spans[0]) if len(spans) == 1 else nullcontext():
            yield
    finally:
        for span in spans:
            span.end()


def note(**attributes: str) -> None:
    """Add to the span that this runs in."""
    if _tracer is not None:
        from opentelemetry import trace

        span = trace.get_current_span()
        span.set_attributes({f"seedmem.{name}": value for name, value in attributes.items()})


def _provider(service: str) -> "TracerProvider":
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import SERVICE_NAME, OTELResourceDetector, Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    resource = Resource.create({SERVICE_NAME: service}).merge(OTELResourceDetector().detect())
    provider = TracerProvider(resource=resource, shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


@contextmanager
def _span(name: str, kind: str, attributes: Attributes) -> Iterator[None]:
    """A span that says of an error its type alone: a message may quote what was sent."""
    if _tracer is None:
        yield
        return
    from opentelemetry.trace import SpanKind, StatusCode

    with _tracer.start_as_current_span(
        name, kind=SpanKind[kind], attributes=attributes,
        record_exception=False, set_status_on_exception=False,
    ) as span:  # fmt: skip
        try:
            yield
        except Exception as error:
            span.set_status(StatusCode.ERROR, type(error).__name__)
            raise


def _current(span: "Span") -> AbstractContextManager["Span"]:
    from opentelemetry.trace import use_span

    return use_span(span, record_exception=False, set_status_on_exception=False)


def _started(tracer: "Tracer", message: Consumed) -> "Span":
    from opentelemetry.propagate import extract
    from opentelemetry.trace import SpanKind

    headers = dict(message.headers or ())
    carried = {name: value.decode("utf-8", "replace") for name, value in headers.items() if value}
    place: Attributes = {
        "messaging.destination.partition.id": str(message.partition),
        "messaging.kafka.offset": message.offset,
    }
    return tracer.start_span(
        f"process {message.topic}", extract(carried), kind=SpanKind.CONSUMER,
        attributes=_of(message.topic, message.key) | place,
    )  # fmt: skip


def _injected() -> Headers:
    from opentelemetry.propagate import inject

    carrier: dict[str, str] = {}
    inject(carrier)
    return [(name, value.encode()) for name, value in carrier.items()]


def _of(topic: str, key: bytes | None) -> Attributes:
    """What every span tells, by OpenTelemetry's names for messaging; ``key`` is a user's."""
    return {"messaging.system": "kafka", "messaging.destination.name": topic} | _user(key or b"")


def _user(key: bytes) -> Attributes:
    return {"seedmem.user": blake2b(key, digest_size=16).hexdigest()}
