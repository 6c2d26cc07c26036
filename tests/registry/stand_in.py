"""A schema registry in this process, over real HTTP, with as much of the REST API as the client asks for.

Numbers are given once over all subjects, the same text with the same references has the same number, and
errors have the registries' own codes. What it does not do: compare versions, or read what it is given.
"""

from __future__ import annotations

import base64
import json
import re
import ssl
import threading
import time
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

_PACE_S = 0.1


class StandIn:
    """Registries answer under `url` between `start` and `stop`; the port stays the same.

    Arguments: who may ask, None for all; a server's side of TLS, None for plain HTTP.
    """

    def __init__(self, login: tuple[str, str] | None = None, tls: ssl.SSLContext | None = None) -> None:
        self.login = login
        self._tls = tls
        self.asked: list[str] = []
        """The path of each request, in their order."""
        self.broken = False
        """True while it answers 500 to everything."""
        self.endless = False
        """True while answers to new requests begin and never end: with a space now and then, so that no
        read times out."""
        self._schemas: dict[int, dict[str, Any]] = {}
        self._subjects: dict[str, list[int]] = {}
        self._port = 0
        self._server: ThreadingHTTPServer | None = None

    @property
    def url(self) -> str:
        return f"{'http' if self._tls is None else 'https'}://127.0.0.1:{self._port}"

    def start(self) -> StandIn:
        self._server = ThreadingHTTPServer(("127.0.0.1", self._port), _handler(self))
        self._port = self._server.server_address[1]
        if self._tls is not None:
            # Shaken hands by the thread that answers: who does not trust us ends its own connection only.
            self._server.socket = self._tls.wrap_socket(
                self._server.socket, server_side=True, do_handshake_on_connect=False
            )
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def stop(self) -> None:
        if self._server is not None:
            self._server.shutdown()
            self._server.server_close()
            self._server = None

    def register(
        self,
        subject: str,
        schema: object,
        kind: str = "AVRO",
        references: tuple[tuple[str, str, int], ...] = (),
    ) -> int:
        """Give a subject its next version; returns the schema's number.

        `schema` is text, or what JSON text says; `references` are (name, subject, version).
        """
        text = schema if isinstance(schema, str) else json.dumps(schema)
        document: dict[str, Any] = {"schema": text, "schemaType": kind}
        if references:
            document["references"] = [{"name": n, "subject": s, "version": v} for n, s, v in references]
        number = next((n for n, there in self._schemas.items() if there == document), len(self._schemas) + 1)
        self._schemas[number] = document
        self._subjects.setdefault(subject, []).append(number)
        return number

    def answer(self, path: str, authorization: str | None) -> tuple[int, dict[str, Any]]:
        """Status and document for a GET."""
        self.asked.append(path)
        if self.broken:
            return 500, {"error_code": 50001, "message": "Error in the backend datastore"}
        if self.login is not None:
            expected = base64.b64encode(":".join(self.login).encode()).decode()
            if authorization != f"Basic {expected}":
                return 401, {"error_code": 401, "message": "Unauthorized"}
        if (found := re.fullmatch(r"/schemas/ids/(\d+)", path)) is not None:
            schema = self._schemas.get(int(found[1]))
            if schema is None:
                return 404, {"error_code": 40403, "message": f"Schema {found[1]} not found"}
            return 200, schema
        if (found := re.fullmatch(r"/subjects/([^/]+)/versions/(latest|\d+)", path)) is not None:
            return self._version(unquote(found[1]), found[2])
        return 404, {"error_code": 404, "message": "HTTP 404 Not Found"}

    def _version(self, subject: str, wanted: str) -> tuple[int, dict[str, Any]]:
        versions = self._subjects.get(subject)
        if versions is None:
            return 404, {"error_code": 40401, "message": f"Subject '{subject}' not found."}
        version = len(versions) if wanted == "latest" else int(wanted)
        if not 0 < version <= len(versions):
            return 404, {"error_code": 40402, "message": f"Version {version} not found."}
        number = versions[version - 1]
        return 200, {"subject": subject, "version": version, "id": number, **self._schemas[number]}


def _handler(registry: StandIn) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = urlsplit(self.path).path
            if registry.endless:
                registry.asked.append(path)
                self._drip()
                return
            status, document = registry.answer(path, self.headers.get("Authorization"))
            body = json.dumps(document).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def _drip(self) -> None:
            self.send_response(200)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.end_headers()
            with suppress(ConnectionError):
                while True:
                    # Until who asked gives up.
                    self.wfile.write(b" ")
                    time.sleep(_PACE_S)

        def log_message(self, format: str, *arguments: object) -> None:
            """The tests' output has enough lines."""

    return Handler


def framed(number: int, body: bytes) -> bytes:
    """A value behind its schema's number."""
    return b"\0" + number.to_bytes(4, "big") + body
