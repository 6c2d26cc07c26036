"""The product while somebody has hard queries explained: over real connections, with real processes."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from urllib.parse import urlsplit

import psutil
import pytest

from backend.run import strays
from tests.load.cliques import Answer, Asked, Client, attack, clique, ingest, make_streams, work
from tests.load.strangers import wander
from tests.soak.product import Product

HARD = 32
"""Inputs; planning them takes seconds."""


@dataclass(frozen=True, slots=True)
class Running:
    product: Product
    usual: str
    sender: str
    hard: tuple[str, ...]

    @property
    def workers(self) -> list[psutil.Process]:
        """All processes below the web process."""
        return psutil.Process(self.product.pid("web")).children(recursive=True)

    def used_s(self) -> float:
        """Processor time of the web process and of what is below it, those that ended included."""
        web = psutil.Process(self.product.pid("web"))
        own = web.cpu_times()
        found = own.user + own.system
        for process in self.workers:
            with suppress(psutil.NoSuchProcess):
                used = process.cpu_times()
                found += used.user + used.system + used.children_user + used.children_system
        return float(found)


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    product = Product(tmp_path_factory.mktemp("home"))
    try:
        product.start()
        names = ["usual", "sender", "hard0", "hard1", "hard2"]
        made = product.run("-m", "tests.load.accounts", *names).split()
        usual, sender, *hard = made
        make_streams(product.url, sender)
        yield Running(product, usual, sender, tuple(hard))
    finally:
        product.end()
    assert not strays.belonging_to(product.home)


def until(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.05)


def used_in(running: Running, seconds: float) -> float:
    before = running.used_s()
    time.sleep(seconds)
    return running.used_s() - before


def begin(running: Running, token: str) -> socket.socket:
    """A connection whose request is being worked at."""
    address = urlsplit(running.product.url)
    connection = socket.create_connection((address.hostname, address.port))
    body = f'{{"sql": "{clique(HARD, 1)}", "name": "hard", "topology": null}}'
    before = running.used_s()
    head = (
        f"POST /api/sql/explain/ HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {token}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    connection.sendall((head + body).encode())
    until(lambda: running.used_s() > before + 0.5)
    return connection


def test_nothing_goes_on_after_the_client_has_gone(running: Running) -> None:
    Client(running.product.url, running.usual).ask("POST", "/api/sql/format/", {"sql": "SELECT 1"})
    connection = begin(running, running.hard[0])
    connection.close()
    # Even where a dozen others want the processors, work that went on would get more of them.
    until(lambda: used_in(running, 1.0) < 0.02, 8.0)
    assert used_in(running, 4.0) < 0.1


def test_workers_that_are_killed_are_replaced(running: Running) -> None:
    client = Client(running.product.url, running.usual)
    body = {"sql": "SELECT c.id FROM clicks AS c", "name": "q"}
    assert client.ask("POST", "/api/sql/validate/", body)[0] == 200
    killed = running.workers
    assert killed
    for process in killed:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    status, answer = client.ask("POST", "/api/sql/validate/", body)
    assert (status, b'"ok":true' in answer) == (200, True)
    assert {one.pid for one in running.workers}.isdisjoint(one.pid for one in killed)
    client.close()


def test_who_is_signed_in_does_not_wait_with_strangers(running: Running) -> None:
    """Fifty at a time ask for pages, the schema, readiness; half of them may be served before one account."""
    stop, strange, own = threading.Event(), Asked(), Asked()
    client = Client(running.product.url, running.usual)
    assert client.ask("GET", "/api/me/")[0] == 200
    threads = [
        threading.Thread(target=wander, args=(running.product.url, number, stop, strange))
        for number in range(50)
    ]
    for thread in threads:
        thread.start()
    until(lambda: len(strange.answers) > 50)
    while len(own.answers) < 30:
        began = time.monotonic()
        status, _ = client.ask("GET", "/api/me/")
        own.answers.append(Answer("/api/me/", time.monotonic() - began, status))
    stop.set()
    for thread in threads:
        thread.join(120)
    client.close()
    assert {one.status for one in own.answers} == {200}
    assert {one.status for one in strange.answers} <= {200, 403, 404, 429}
    typical, strangers = (one.seconds()[len(one.answers) // 2] for one in (own, strange))
    assert typical < strangers / 2


def test_everybody_else_is_answered_while_cliques_are_explained(running: Running) -> None:
    """A short form of `python -m tests.load`, without its bounds: a busy machine is slow, not wrong."""
    stop, usual, sent, hard = threading.Event(), Asked(), Asked(), Asked()
    url = running.product.url
    threads = [
        threading.Thread(target=work, args=(url, running.usual, stop, usual)),
        threading.Thread(target=ingest, args=(url, running.sender, stop, sent)),
    ]
    threads += [
        threading.Thread(target=attack, args=(url, token, number, stop, hard))
        for number, token in enumerate(running.hard)
    ]
    for thread in threads:
        thread.start()
    time.sleep(8.0)
    stop.set()
    for thread in threads:
        thread.join(120)
    assert {one.status for one in usual.answers} == {200}
    assert {one.status for one in sent.answers} == {202}
    assert {one.status for one in hard.answers} <= {0, 200, 422, 429, 503}
    pages = [one.seconds for one in usual.answers if one.asked in ("/api/me/", "/api/streams/")]
    assert sorted(pages)[len(pages) // 2] < 2.0
    assert len(sent.answers) > 8
