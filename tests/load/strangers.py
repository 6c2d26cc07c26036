"""Strangers: clients without an account that ask for what anybody may, as fast as they can."""

from __future__ import annotations

import http.client
import threading
import time
from contextlib import suppress
from urllib.parse import urlsplit

from tests.load.cliques import Answer, Asked

ANYBODYS = ("/readyz", "/api/schema/", "/login/", "/favicon.ico", "/api/me/")


def wander(url: str, number: int, stop: threading.Event, asked: Asked) -> None:
    """Ask for one page again and again; every fifth stranger makes up a token."""
    path = ANYBODYS[number % len(ANYBODYS)]
    headers = {"Authorization": f"Bearer millrace_{number}"} if number % 5 == 4 else {}
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=120.0)
    while not stop.is_set():
        began, status = time.monotonic(), 0
        with suppress(OSError, http.client.HTTPException):
            connection.request("GET", path, headers=headers)
            answer = connection.getresponse()
            status = answer.status
            answer.read()
        if not status:
            connection.close()
        asked.answers.append(Answer(path, time.monotonic() - began, status))
    connection.close()
