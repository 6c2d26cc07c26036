"""A killed topology whose results go to PostgreSQL and Iceberg at once."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pyiceberg.catalog import load_catalog

from jobs.protocol import Stop
from tests.postgres.conftest import Server
from tests.runtime.live import Live, RedisServer, write_live_workload

QUERY = "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a"


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    server.start()
    running = Live(
        server.port, tmp_path, write_live_workload(tmp_path / "workload", {"two": QUERY, "three": QUERY})
    )
    yield running
    running.close()
    server.stop()


def test_both_have_every_result_once(
    live: Live, postgres: Server, catalog: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.fresh("live")
    for name, value in {**catalog, "MILLRACE_POSTGRES_RESULTS_URL": url}.items():
        monkeypatch.setenv(name, value)
    options = ["--batch-rows", "60", "--results-table", "{query}", "--results-iceberg", "live.{query}"]
    options += ["--results-iceberg-queries", "tw*"]
    graph = live.graph("ilp", "two", "three")
    live.start("1", "p", graph, files=False, options=options)
    live.produce(120, "rs")
    live.wait_for(lambda event: event.type == "batch" and bool(event.queries))
    live.signal(signal.SIGKILL)
    live.start("2", "p", graph, files=False, options=options)
    live.produce(120, "rs")
    live.wait_for_tuples("rs")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    expected = live.expected("two")
    assert expected
    with psycopg.connect(url) as connection:
        for query in ("two", "three"):
            assert sorted(connection.execute(f"SELECT rn, sn FROM {query}").fetchall()) == expected
    properties = {name.rpartition("__")[2].lower(): value for name, value in catalog.items() if "__" in name}
    lake = load_catalog("lake", **properties)
    assert lake.list_tables("live") == [("live", "two")]
    rows = lake.load_table("live.two").scan().to_arrow().to_pylist()
    assert sorted((row["rn"], row["sn"]) for row in rows) == expected
