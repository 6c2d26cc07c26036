from __future__ import annotations

import json
import socket
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
import trustme
from pytest_django import Settings


@dataclass
class Receiver:
    """A real HTTP server that keeps what is posted to it."""

    url: str
    status: int = 204
    bodies: list[bytes] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)

    @property
    def documents(self) -> list[Any]:
        return [json.loads(body) for body in self.bodies]


@pytest.fixture
def receiver(settings: Settings) -> Iterator[Receiver]:
    settings.MILLRACE_WEBHOOK_PRIVATE = True
    with _receiving("http", "127.0.0.1", lambda plain: plain) as received:
        yield received


@pytest.fixture
def authority() -> trustme.CA:
    """A certificate authority that nobody knows."""
    return trustme.CA()


@pytest.fixture
def secure_receiver(settings: Settings, authority: trustme.CA) -> Iterator[Receiver]:
    """A receiver that speaks TLS, with a certificate of the authority for `localhost`."""
    settings.MILLRACE_WEBHOOK_PRIVATE = True
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("localhost").configure_cert(context)
    with _receiving("https", "localhost", lambda plain: context.wrap_socket(plain, server_side=True)) as made:
        yield made


@contextmanager
def _receiving(
    scheme: str, host: str, wrapped: Callable[[socket.socket], socket.socket]
) -> Iterator[Receiver]:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.headers.append(dict(self.headers))
            received.bodies.append(self.rfile.read(int(self.headers["Content-Length"])))
            self.send_response(received.status)
            if received.status == 302:
                self.send_header("Location", received.url)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            # A client that does not trust the certificate hangs up: what tests ask of it.
            pass

    server = Server(("127.0.0.1", 0), Handler)
    server.socket = wrapped(server.socket)
    received = Receiver(f"{scheme}://{host}:{server.server_port}/hook?team=a")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
