"""Accounts that have cliques explained as fast as they may, one that works as usual, one that ingests."""

from __future__ import annotations

import http.client
import json
import random
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any
from urllib.parse import urlsplit

ATTACKERS = 10
AT_ONCE = 3
"""Connections of each attacker."""
STREAMS = ("clicks", "views", "orders")
USUAL = "SELECT c.id FROM clicks [RANGE 10 SECONDS] AS c, views [RANGE 10 SECONDS] AS v WHERE c.id = v.id"


def clique(inputs: int, seed: int) -> str:
    """A self-join of every input with every other one, unlike that of any other seed."""
    chance = random.Random(seed)
    sources = ", ".join(f"clicks [RANGE {chance.randint(1, 60)} SECONDS] AS t{n}" for n in range(inputs))
    same = chance.random() < 0.5
    pairs = combinations(range(inputs), 2)
    joined = [
        f"t{i}.id = t{j}.id" if same else f"t{i}.id < t{j}.id + {chance.randint(0, 999)}" for i, j in pairs
    ]
    return f"SELECT t0.id FROM {sources} WHERE {' AND '.join(joined)}"


@dataclass(frozen=True, slots=True)
class Answer:
    asked: str
    seconds: float
    status: int
    """0 where no answer came."""


@dataclass(slots=True)
class Asked:
    """What was asked, by everybody of one kind."""

    answers: list[Answer] = field(default_factory=list)

    def seconds(self, asked: str | None = None) -> list[float]:
        return sorted(one.seconds for one in self.answers if asked in (None, one.asked))


class Client:
    """One connection with a token."""

    def __init__(self, url: str, token: str) -> None:
        parts = urlsplit(url)
        assert parts.hostname is not None
        self._address = (parts.hostname, parts.port)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        self._connection: http.client.HTTPConnection | None = None

    def ask(self, method: str, path: str, body: Any = None, patience_s: float = 120.0) -> tuple[int, bytes]:
        """The answer's status and body; raises `TimeoutError` when it is given up, and hangs up."""
        if self._connection is None:
            self._connection = http.client.HTTPConnection(*self._address)
        self._connection.timeout = patience_s
        if self._connection.sock is not None:
            self._connection.sock.settimeout(patience_s)
        text = None if body is None else json.dumps(body)
        try:
            self._connection.request(method, path, text, self._headers)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except OSError:
            self.close()
            raise

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def attack(url: str, token: str, seed: int, stop: threading.Event, asked: Asked) -> None:
    """Explains clique after clique; goes away before every third answer, as an editor does."""
    client, chance = Client(url, token), random.Random(seed)
    while not stop.is_set():
        body = {
            "sql": clique(chance.randint(8, 20), chance.randrange(1 << 30)),
            "name": "hard",
            "topology": None,
        }
        began = time.monotonic()
        try:
            status, _ = client.ask(
                "POST", "/api/sql/explain/", body, 0.5 if chance.random() < 1 / 3 else 120.0
            )
        except (OSError, http.client.HTTPException):
            status = 0
        asked.answers.append(Answer("/api/sql/explain/ of a clique", time.monotonic() - began, status))
        if status == 429:
            stop.wait(0.2)
    client.close()


def work(url: str, token: str, stop: threading.Event, asked: Asked) -> None:
    """What a person does: looks at pages, and writes a query that is checked and explained."""
    client = Client(url, token)
    number = 0
    looks: Sequence[tuple[str, str, Any]] = (
        ("GET", "/api/me/", None),
        ("GET", "/api/queries/", None),
        ("GET", "/api/streams/", None),
        ("GET", "/api/topologies/", None),
        ("POST", "/api/sql/validate/", {"sql": USUAL, "name": "usual"}),
        ("POST", "/api/sql/format/", {"sql": USUAL}),
        ("POST", "/api/sql/explain/", {"sql": USUAL, "name": "usual", "topology": None}),
        ("POST", "/api/sql/outlook/", {"sql": USUAL, "name": "usual", "topology": None}),
        ("POST", "/api/sql/preview/", {"sql": USUAL, "name": "usual", "limit": 20}),
    )
    while not stop.is_set():
        method, path, body = looks[number % len(looks)]
        number += 1
        began = time.monotonic()
        try:
            status, _ = client.ask(method, path, body)
        except (OSError, http.client.HTTPException):
            status = 0
        asked.answers.append(Answer(path, time.monotonic() - began, status))
        stop.wait(0.1)
    client.close()


def ingest(url: str, token: str, stop: threading.Event, asked: Asked) -> None:
    """Twenty tuples, ten times a second."""
    client = Client(url, token)
    number = 0
    while not stop.is_set():
        moment = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        rows = [{"at": moment, "id": number + n} for n in range(20)]
        number += 20
        began = time.monotonic()
        status = 0
        with suppress(OSError, http.client.HTTPException):
            status, _ = client.ask("POST", "/api/streams/clicks/events/", rows)
        asked.answers.append(Answer("/api/streams/clicks/events/", time.monotonic() - began, status))
        stop.wait(0.1)
    client.close()


def make_streams(url: str, token: str) -> None:
    client = Client(url, token)
    for name in STREAMS:
        columns = [{"name": "at", "type": "timestamp"}, {"name": "id", "type": "bigint"}]
        body = {"name": name, "event_time": "at", "columns": columns}
        status, said = client.ask("POST", "/api/streams/", body)
        if status != 201:
            raise RuntimeError(f"stream {name}: found {status} {said!r}, expected 201")
    client.close()
