"""Liveness, readiness and metrics over HTTP, from a thread of its own.

It answers also while the event loop is busy, and from the first second on:
liveness looks at progress, and not while Redis is away: an outage of a
dependency restarts no worker.
"""

import threading
from collections.abc import Callable, Iterable
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from prometheus_client import make_wsgi_app

from streams.errors import ConfigError

Check = Callable[[], str | None]
"""Returns what is wrong, in one line, or None when all is well."""


class HealthServer:
    """Serves ``/live``, ``/ready`` and ``/metrics``.

    Raises:
        ConfigError: the port is taken.
    """

    def __init__(self, host: str, port: int, *, live: Check, ready: Check) -> None:
        self._checks = {"/live": live, "/ready": ready}
        self._metrics = make_wsgi_app()
        try:
            self._server = make_server(host, port, self._app, _Server, _QuietHandler)
        except OSError as error:
            raise ConfigError(
                f"health port {host}:{port} cannot be used ({error.strerror}): "
                "choose another SEEDMEM_HEALTH_PORT, or 0 for any free one"
            ) from error

    @property
    def port(self) -> int:
        """The port that it listens on."""
        return int(self._server.server_port)

    def start(self) -> None:
        """Serve until the process ends."""
        threading.Thread(target=self._server.serve_forever, name="health", daemon=True).start()

    def close(self) -> None:
        """Stop serving and free the port."""
        self._server.shutdown()
        self._server.server_close()

    def _app(self, environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"]
        if path == "/metrics":
            body: Iterable[bytes] = self._metrics(environ, start_response)
            return body
        if (check := self._checks.get(path)) is None:
            start_response("404 Not Found", [("Content-Type", "text/plain")])
            return [b"want /live, /ready or /metrics\n"]
        trouble = check()
        status = "200 OK" if trouble is None else "503 Service Unavailable"
        start_response(status, [("Content-Type", "text/plain; charset=utf-8")])
        return [f"{trouble or 'ok'}\n".encode()]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _QuietHandler(WSGIRequestHandler):
    def log_message(self, format: str, *args: object) -> None:
        """Say nothing: a probe every second is no news."""
