"""A receiver of webhooks: a real HTTP server around the code that the guide shows."""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

GUIDE = Path(__file__).resolve().parents[2] / "docs" / "guide" / "sinks.md"
SECRET = "a secret"


@dataclass
class Receiver:
    url: str
    statuses: list[int] = field(default_factory=list)
    """What the next requests are answered with, before they are taken; then each as the guide's code says."""
    keys: list[str] = field(default_factory=list)
    """Of every request, in order."""
    taken: dict[str, Any] = field(default_factory=dict)
    """What the guide's code has taken, by key."""

    @property
    def results(self) -> list[dict[str, Any]]:
        """The results that are in it, in the order in which they were taken."""
        return [
            row
            for body in self.taken.values()
            for row in (body["results"] if "results" in body else [body["result"]])
        ]


def guide_code() -> Callable[..., int]:
    """The function of the guide that takes a request."""
    (code,) = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(code, str(GUIDE), "exec"), names)
    take: Callable[..., int] = names["take"]
    return take


@contextmanager
def receiving() -> Iterator[Receiver]:
    """A receiver on a port of its own."""
    take = guide_code()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            received.keys.append(self.headers["Idempotency-Key"])
            status = received.statuses.pop(0) if received.statuses else 0
            self.send_response(status or take(SECRET, self.headers, body, received.taken))
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    received = Receiver(f"http://127.0.0.1:{server.server_port}/results")
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
