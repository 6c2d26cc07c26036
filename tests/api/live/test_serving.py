"""The live endpoint as `make run` serves it: two hundred pages, and connections that end in every way."""

from __future__ import annotations

import asyncio
import socket
import statistics
import struct
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from backend.http.serving import Connection
from backend.live.sse.listener import BEAT_SECONDS
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics import FixedStatistics
from tests.bench.pages.site import NAME, Site, site
from tests.load.listeners import Listener, listen

LISTENERS = 200
ACCOUNTS = 10
LISTENING_S = 15.0
PATIENCE_S = 60.0


def _graph() -> PhysicalGraph:
    """One query over two streams."""
    columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.BIGINT))
    catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    text = "SELECT r.a FROM r [RANGE 1 MINUTE], s [RANGE 1 MINUTE] WHERE r.a = s.a"
    rates = FixedStatistics({"r": 10.0, "s": 10.0})
    queries = [parse_query(text, "pairs", catalog)]
    return plan(queries, catalog, rates, "greedy", Options(), "everything", tasks=2).graph


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    home = tmp_path_factory.mktemp("site")
    with site(home, _graph(), accounts=ACCOUNTS, MILLRACE_LISTENERS_ACCOUNT="20") as made:
        yield made


def _cookie(session: str) -> dict[str, str]:
    return {"Cookie": f"sessionid={session}"}


def _readers(made: Site) -> int:
    return sum(one["cmd"] == "xread" for one in made.events.client_list())


def _until(holds: Callable[[], bool], told: str) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        assert time.monotonic() < deadline, told
        time.sleep(0.1)


def _is_quiet(made: Site, threads: int) -> bool:
    web = psutil.Process(made.web.pid)
    connected = [one for one in web.net_connections("tcp") if one.status != psutil.CONN_LISTEN]
    to_pages = [one for one in connected if one.laddr.port == int(made.url.rpartition(":")[2])]
    return _readers(made) == 0 and not to_pages and web.num_threads() <= threads


def test_two_hundred_pages_hear_everything_through_one_reader(served: Site) -> None:
    """And somebody else's requests are answered meanwhile."""
    threads = psutil.Process(served.web.pid).num_threads()
    headers = [_cookie(served.sessions[number % ACCOUNTS]) for number in range(LISTENERS)]
    readers: list[int] = []
    asked: list[float] = []

    async def talk() -> None:
        for batch in range(1000):
            await asyncio.to_thread(served.tell, batch)
            await asyncio.to_thread(served.send, served.heartbeat(batch))
            await asyncio.sleep(0.5)
            readers.append(await asyncio.to_thread(_readers, served))

    async def ask() -> None:
        while True:
            began = time.monotonic()
            reader, writer = await asyncio.open_connection("127.0.0.1", int(served.url.rpartition(":")[2]))
            cookie = _cookie(served.sessions[0])["Cookie"]
            writer.write(f"GET /api/me/ HTTP/1.1\r\nHost: localhost\r\nCookie: {cookie}\r\n\r\n".encode())
            assert b"200" in await reader.readline()
            writer.close()
            asked.append(time.monotonic() - began)
            await asyncio.sleep(0.2)

    async def story() -> None:
        others = [asyncio.create_task(talk()), asyncio.create_task(ask())]
        heard = await listen(served.url, NAME, headers, LISTENING_S)
        for task in others:
            task.cancel()
        print(heard, f"/api/me/ p50 {statistics.median(asked):.3f} max {max(asked):.3f}")
        assert (heard.lost, heard.resets, heard.reconnects, heard.refused) == (0, 0, 0, {})
        assert heard.events > 4
        assert heard.received > LISTENERS * 4
        assert heard.latency_ms["p95"] < 5000, "on a busy machine"

    asyncio.run(story())
    assert max(readers) == 1
    assert statistics.quantiles(asked, n=20)[18] < 5.0, "on a busy machine"
    _until(lambda: _is_quiet(served, threads + 2), "connections or threads are left")


def _raw(made: Site, session: str, receive_bytes: int | None = None) -> socket.socket:
    """A connection that has asked for events; nothing was read yet."""
    opened = socket.socket()
    if receive_bytes is not None:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_bytes)
    opened.settimeout(PATIENCE_S)
    opened.connect(("127.0.0.1", int(made.url.rpartition(":")[2])))
    head = (f"GET /api/topologies/{NAME}/events/ HTTP/1.1", "Host: localhost", f"Cookie: sessionid={session}")
    opened.sendall("\r\n".join((*head, "", "")).encode())
    return opened


def _read_first(opened: socket.socket) -> None:
    got = b""
    while b"event: reset" not in got:
        more = opened.recv(4096)
        assert more, got
        got += more


def _reset(opened: socket.socket) -> None:
    opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    opened.close()


def _closes(made: Site, session: str) -> None:
    opened = _raw(made, session)
    _read_first(opened)
    opened.close()


def _resets(made: Site, session: str) -> None:
    opened = _raw(made, session)
    _read_first(opened)
    _reset(opened)


def _says_that_it_sends_no_more(made: Site, session: str) -> None:
    opened = _raw(made, session)
    _read_first(opened)
    opened.shutdown(socket.SHUT_WR)
    while opened.recv(4096):
        pass
    opened.close()


def _leaves_before_the_first_byte(made: Site, session: str) -> None:
    _reset(_raw(made, session))


def _leaves_while_it_is_let_in(made: Site, session: str) -> None:
    opened = _raw(made, session)
    time.sleep(0.05)
    _reset(opened)


@pytest.mark.parametrize(
    "leave",
    [
        _closes,
        _resets,
        _says_that_it_sends_no_more,
        _leaves_before_the_first_byte,
        _leaves_while_it_is_let_in,
    ],
)
def test_nothing_is_left_however_a_connection_ends(served: Site, leave: Callable[[Site, str], None]) -> None:
    _until(lambda: _readers(served) == 0, "not quiet before")
    web = psutil.Process(served.web.pid)
    threads = web.num_threads()
    for number in range(15):
        leave(served, served.sessions[number % 2])
    _until(lambda: _is_quiet(served, threads + 2), f"{web.num_threads()} threads, {_readers(served)} readers")


def test_a_client_that_reads_nothing_is_let_go(served: Site) -> None:
    stuck = [_raw(served, served.sessions[1], receive_bytes=2048) for _ in range(3)]
    try:
        _until(lambda: _readers(served) == 1, "not let in")
        batch = served.batch(1)
        big = batch.model_copy(update={"level_seconds": [0.1] * 100_000})
        for _ in range(12):
            served.send(big)
        deadline = time.monotonic() + 2 * PATIENCE_S
        while _readers(served):
            assert time.monotonic() < deadline
            time.sleep(0.5)
    finally:
        for one in stuck:
            one.close()


def test_a_server_that_ends_leaves_nothing_behind(tmp_path: Path) -> None:
    with site(tmp_path, _graph()) as made:

        async def story() -> None:
            listeners = [Listener(made.url, NAME, _cookie(made.sessions[0])) for _ in range(5)]
            tasks = [asyncio.create_task(one.listen()) for one in listeners]
            while not all(one.last_id for one in listeners):
                await asyncio.sleep(0.1)
            made.web.terminate()
            await asyncio.to_thread(made.web.wait, BEAT_SECONDS)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

        asyncio.run(story())
        _until(lambda: _readers(made) == 0, "a reader is left")


def test_a_peer_that_is_silent_is_probed() -> None:
    """A machine that lost its network says no FIN: the kernel finds out, within a minute."""

    class Transport(asyncio.Transport):
        def __init__(self, connected: socket.socket) -> None:
            super().__init__({"socket": connected})

    async def story() -> None:
        from uvicorn import Config
        from uvicorn.server import ServerState

        config = Config("backend.asgi:application", http="backend.http.serving:Connection", lifespan="off")
        config.load_app = lambda: None  # type: ignore[method-assign]
        config.load()
        assert config.http_protocol_class is Connection
        with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()):
            accepted, _ = server.accept()
            with accepted:
                Connection(config, ServerState(), {}).connection_made(Transport(accepted))
                assert accepted.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) == 1
                assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT) == 60_000
                idle, probe, count = (
                    accepted.getsockopt(socket.IPPROTO_TCP, option)
                    for option in (socket.TCP_KEEPIDLE, socket.TCP_KEEPINTVL, socket.TCP_KEEPCNT)
                )
                assert idle + probe * count <= 60

    asyncio.run(story())
