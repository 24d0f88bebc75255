"""The OpenAI-compatible and the Vertex encoder against a local service that misbehaves."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest

from seedmem.encode import RemoteOptions, load_encoder
from seedmem.encode.remote import RemoteEncoder
from seedmem.errors import EncoderError, EncoderUnavailableError

pytest.importorskip("httpx", reason="needs the extra `remote`")
pytest.importorskip("google.genai", reason="needs the extra `remote`")

Load = Callable[..., RemoteEncoder]


@dataclass
class Service:
    """Answers each request by the next of ``plan``, then well."""

    url: str = ""
    plan: list[Callable[["Handler"], None]] = field(default_factory=list)
    requests: list[list[str]] = field(default_factory=list)
    times: list[float] = field(default_factory=list)
    keys: list[str | None] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)
    """Set at the end of the test, so that a slow answer does not outlive it."""


class Handler(BaseHTTPRequestHandler):
    """Speaks both protocols: the path tells which."""

    service: Service
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.texts: list[str] = (
            [one["content"] for one in body["instances"]] if self.is_vertex else body["input"]
        )
        self.service.requests.append(self.texts)
        self.service.times.append(time.monotonic())
        self.service.keys.append(
            self.headers["x-goog-api-key"] if self.is_vertex else self.headers["authorization"]
        )
        answer = self.service.plan.pop(0) if self.service.plan else well
        answer(self)

    @property
    def is_vertex(self) -> bool:
        return self.path.endswith(":predict")

    def log_message(self, *_: object) -> None:
        """Keep quiet."""

    def give(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in ({"content-length": str(len(body))} | headers).items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def give_vectors(self, vectors: Sequence[object]) -> None:
        """Answer as the real services do; OpenAI's items in reverse, with their index."""
        if self.is_vertex:
            rows = [
                {"embeddings": {"values": vector, "statistics": {"token_count": 3}}}
                for vector in vectors
            ]
            body: dict[str, object] = {"predictions": rows}
        else:
            items = [{"index": place, "embedding": v} for place, v in enumerate(vectors)]
            body = {"data": items[::-1], "usage": {"total_tokens": 3 * len(items)}}
        self.give(200, json.dumps(body).encode(), content_type="application/json")


def vector_of(text: str) -> list[float]:
    """Return what the service gives for ``text``: not of unit length, and telling texts apart."""
    return [float(len(text)), 1.0, 2.0]


def well(handler: Handler) -> None:
    handler.give_vectors([vector_of(text) for text in handler.texts])


def status(code: int, **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.give(code, b'{"error": {"message": "as planned"}}', **headers)


def vectors(*given: object) -> Callable[[Handler], None]:
    return lambda handler: handler.give_vectors(given)


def broken_json(handler: Handler) -> None:
    handler.give(200, b'{"data": [{"ind', content_type="application/json")


def other_json(handler: Handler) -> None:
    handler.give(200, b'{"data": 7, "predictions": 7}', content_type="application/json")


def drop(handler: Handler) -> None:
    handler.close_connection = True
    handler.connection.close()


def slow(handler: Handler) -> None:
    handler.service.over.wait(5)
    drop(handler)


@pytest.fixture
def service() -> Iterator[Service]:
    found = Service()
    handler = type("ThisHandler", (Handler,), {"service": found})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    found.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield found
    found.over.set()
    server.shutdown()
    server.server_close()
    thread.join(timeout=10)


@pytest.fixture(params=["openai:some-model", "vertex:text-embedding-005"])
def load(request: pytest.FixtureRequest, service: Service) -> Iterator[Load]:
    made: list[RemoteEncoder] = []

    def loaded(**options: object) -> RemoteEncoder:
        given = {"api_key": "k", "base_url": service.url, "dim": 3, "longest_wait": 0.05}
        encoder = load_encoder(request.param, remote=RemoteOptions(**given | options))
        assert isinstance(encoder, RemoteEncoder)
        made.append(encoder)
        return encoder

    yield loaded
    for encoder in made:
        encoder.close()


def test_vectors_come_scaled_to_unit_length_in_the_order_of_the_texts(load: Load) -> None:
    texts = ["a", "four", "🎂 cake", "\ud83d"]

    rows = load().encode(texts)

    for row, length in zip(rows, [1, 4, 6, 1], strict=True):
        scale = (length**2 + 1 + 4) ** 0.5
        np.testing.assert_allclose(row, [length / scale, 1 / scale, 2 / scale], atol=1e-6)


def test_the_dimension_is_asked_for_once_when_it_is_not_given(load: Load, service: Service) -> None:
    encoder = load(dim=None)

    assert encoder.space.dim == 3
    assert service.requests == [["seed"]]


def test_the_space_names_the_model(load: Load) -> None:
    assert load().space.encoder in {"openai:some-model", "vertex:text-embedding-005"}


def test_a_request_is_bounded_in_texts_and_in_characters(load: Load, service: Service) -> None:
    texts = ["x" * 10_000] * 4 + ["y"] * 5

    rows = load(batch_size=4).encode(texts)

    assert rows.shape == (9, 3)
    assert [len(request) for request in service.requests] == [3, 4, 2]


def test_the_cost_is_counted_in_the_tokens_that_the_service_reports(load: Load) -> None:
    encoder = load(batch_size=2)

    encoder.encode(["a", "b", "c"])
    encoder.encode(["d"])

    assert encoder.tokens == 12


def test_the_key_is_sent_and_never_shown(load: Load, service: Service) -> None:
    load(api_key="s3cret").encode(["a"])

    assert service.keys[0] in {"s3cret", "Bearer s3cret"}
    assert "s3cret" not in repr(RemoteOptions(api_key="s3cret"))


@pytest.mark.parametrize(
    "trouble",
    [[status(500)] * 3, [status(503), drop], [drop, status(429)], [broken_json], [other_json]],
)
def test_passing_trouble_is_tried_again(
    load: Load, service: Service, trouble: list[Callable[[Handler], None]]
) -> None:
    service.plan = list(trouble)

    assert load().encode(["a"]).shape == (1, 3)
    assert len(service.requests) == len(trouble) + 1


def test_the_wait_that_a_429_asks_for_is_kept(load: Load, service: Service) -> None:
    service.plan = [status(429, retry_after="1")]

    load(longest_wait=20.0).encode(["a"])

    first, second = service.times
    assert second - first >= 1.0


def test_a_slow_service_is_given_up_in_time(load: Load, service: Service) -> None:
    service.plan = [slow, slow]
    started = time.monotonic()

    with pytest.raises(EncoderUnavailableError, match="Timeout") as caught:
        load(timeout=0.2, attempts=2).encode(["a"])

    assert caught.value.retry_after == 0.0
    assert time.monotonic() - started < 4


@pytest.mark.parametrize("trouble", [status(500), drop, broken_json])
def test_lasting_trouble_ends_in_an_error_that_says_wait(
    load: Load, service: Service, trouble: Callable[[Handler], None]
) -> None:
    service.plan = [trouble] * 3

    with pytest.raises(EncoderUnavailableError) as caught:
        load(attempts=3).encode(["a"])

    assert caught.value.retry_after is not None
    assert len(service.requests) == 3


@pytest.mark.parametrize("code", [401, 403, 404])
def test_a_refused_key_or_model_is_not_asked_again(load: Load, service: Service, code: int) -> None:
    service.plan = [status(code)]

    with pytest.raises(EncoderUnavailableError, match="check key, model") as caught:
        load().encode(["a"])

    assert caught.value.retry_after is None
    assert "as planned" in str(caught.value)
    assert len(service.requests) == 1


def test_a_refused_text_is_an_error_of_the_text_and_not_quoted(
    load: Load, service: Service
) -> None:
    service.plan = [lambda handler: handler.give(400, b'{"error": {"message": "bad: my diary"}}')]

    with pytest.raises(EncoderError, match="answered 400") as caught:
        load().encode(["my diary"])

    assert not isinstance(caught.value, EncoderUnavailableError)
    assert "diary" not in str(caught.value)


@pytest.mark.parametrize(
    "bad", [None, [], [None, 1.0, 2.0], [0.0, 0.0, 0.0], [float("nan"), 1.0, 1.0]]
)
def test_f54_a_text_without_a_usable_vector_is_an_error_never_a_zero_vector(
    load: Load, service: Service, bad: object
) -> None:
    service.plan = [vectors([1.0, 0.0, 0.0], bad)]

    with pytest.raises(EncoderError, match=r"no usable vector for text 1|malformed"):
        load(attempts=1).encode(["fine", "bad"])


def test_f53_vectors_of_another_dimension_are_refused(load: Load, service: Service) -> None:
    service.plan = [vectors([1.0, 2.0, 3.0, 4.0])]

    with pytest.raises(EncoderUnavailableError, match="4 components, want 3"):
        load().encode(["a"])


def test_too_few_vectors_are_refused(load: Load, service: Service) -> None:
    service.plan = [vectors([1.0, 2.0, 3.0])]

    with pytest.raises(EncoderUnavailableError, match="1 vectors for 2 texts"):
        load().encode(["a", "b"])


def test_blank_text_and_no_text_are_never_sent(load: Load, service: Service) -> None:
    encoder = load()

    assert encoder.encode([]).shape == (0, 3)
    with pytest.raises(EncoderError, match="text 0 of 1 is blank"):
        encoder.encode(["\u200b"])
    assert service.requests == []


def test_an_openai_address_may_stand_in_the_name(service: Service) -> None:
    encoder = load_encoder(f"openai:some-model@{service.url}")
    assert isinstance(encoder, RemoteEncoder)

    rows = encoder.encode(["four"])

    encoder.close()
    assert rows.shape == (1, 3)
    assert service.keys == [None, None]


def test_nobody_listening_is_an_error_at_load() -> None:
    options = RemoteOptions(api_key="k", base_url="http://127.0.0.1:9", attempts=1)

    for name in ("openai:m", "vertex:text-embedding-005"):
        with pytest.raises(EncoderUnavailableError, match="cannot be reached"):
            load_encoder(name, remote=options)
