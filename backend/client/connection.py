"""HTTP with JSON bodies and a bearer token, by the standard library alone."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode, urlsplit

from backend.client.errors import ClientError, Unreachable, refusal

TIMEOUT_SECONDS = 30.0
"""Without a byte."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """A redirect would carry the token to whomever it names."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


class Connection:
    """Requests to one server on behalf of one token.

    Raises `ClientError` for an address that is none.
    """

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ClientError(
                f"MILLRACE_URL: found {url!r}, expected an address such as http://localhost:8000"
            )
        if not token.isascii() or not token.isprintable():
            raise ClientError("MILLRACE_TOKEN: found a text with other characters than a token has")
        self.url = url.rstrip("/")
        self._token = token
        self._opener = urllib.request.build_opener(_NoRedirects)

    def get(self, path: str, **parameters: str | int | float) -> Any:
        query = f"?{urlencode(parameters)}" if parameters else ""
        return self.send("GET", f"{path}{query}")

    def post(self, path: str, document: object = None, seconds: float = TIMEOUT_SECONDS) -> Any:
        body = json.dumps({} if document is None else document).encode()
        return self.send("POST", path, body, seconds=seconds)

    def send(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        kind: str = "application/json",
        seconds: float = TIMEOUT_SECONDS,
    ) -> Any:
        """The answer's JSON document; None for an empty one.

        Raises `Refused` for an answer that is not 2xx, `Unreachable` if there is none.
        """
        text, _ = self._answered(method, path, body, kind, seconds)
        found = _document(text)
        if found is None and text:
            raise Unreachable(f"{self.url} answers, but not as Millrace does; is the address right?")
        return found

    def get_bytes(
        self, path: str, seconds: float = TIMEOUT_SECONDS, **parameters: str | int | float
    ) -> tuple[bytes, Mapping[str, str]]:
        """The answer's body, and its headers."""
        return self._answered("GET", f"{path}?{urlencode(parameters)}", None, "", seconds)

    def _answered(
        self, method: str, path: str, body: bytes | None, kind: str, seconds: float
    ) -> tuple[bytes, Mapping[str, str]]:
        headers: Mapping[str, str] = {
            "Authorization": f"Bearer {self._token}",
            "Accept": "application/json",
            **({} if body is None else {"Content-Type": kind}),
        }
        request = urllib.request.Request(f"{self.url}{path}", body, dict(headers), method=method)
        try:
            with self._opener.open(request, timeout=seconds) as answer:
                return answer.read(), answer.headers
        except urllib.error.HTTPError as error:
            with error:
                raise refusal(error.code, _document(error.read())) from error
        except (OSError, ValueError) as error:
            reason = error.reason if isinstance(error, urllib.error.URLError) else error
            raise Unreachable(f"{self.url} does not answer: {reason}") from error


def _document(text: bytes) -> object:
    try:
        return json.loads(text)
    except ValueError:
        return None
