from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest
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

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = Receiver(f"http://127.0.0.1:{server.server_port}/hook?team=a")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield received
    server.shutdown()
    thread.join()
    server.server_close()
