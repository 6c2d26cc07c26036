"""A killed topology whose results go to PostgreSQL and Iceberg at once."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from pyiceberg.catalog import load_catalog

from jobs.protocol import Deploy, Stop, Verified, table_keys
from tests.postgres.conftest import Server
from tests.runtime.live import TOPOLOGY, Live, RedisServer, write_live_workload

QUERY = "SELECT r.n AS rn, s.n AS sn FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a"
BUSY = (
    "SELECT r.a AS k, COUNT(*) AS n FROM r [RANGE 20 SECONDS], s [RANGE 20 SECONDS] WHERE r.a = s.a "
    "GROUP BY r.a HAVING COUNT(*) BETWEEN 5 AND 30"
)


@pytest.fixture
def live(tmp_path: Path) -> Iterator[Live]:
    (tmp_path / "redis").mkdir()
    server = RedisServer(tmp_path / "redis")
    server.start()
    queries = {"two": QUERY, "three": QUERY, "busy": BUSY}
    running = Live(server.port, tmp_path, write_live_workload(tmp_path / "workload", queries))
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
    live.send(Verified(plan_id="p", until_us={"two": 17, "three": 18}))
    # Messages are read in their order: behind this one, the other is known.
    live.send(Deploy(plan_id="none", graph={}))
    live.wait_for(lambda event: event.type == "deploy_refused")
    live.produce(60, "rs")
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
    summaries = [one.summary for one in lake.load_table("live.two").snapshots()]
    verified = [None if one is None else one.get("millrace.verified-until-us") for one in summaries]
    assert (verified[0], verified[-1]) == (None, "17")


@pytest.mark.long
def test_a_table_of_groups_is_whole_in_a_sink_that_comes_later(
    live: Live, postgres: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = postgres.fresh("groups")
    monkeypatch.setenv("MILLRACE_POSTGRES_RESULTS_URL", url)
    graph, few = live.graph("ilp", "busy"), ["--batch-rows", "60"]
    live.start("1", "p", graph, files=False, options=few)
    live.produce(120, "rs")
    live.wait_for_tuples("rs")
    live.signal(signal.SIGKILL)
    live.start("2", "p", graph, files=False, options=[*few, "--results-table", "{query}"])
    # Fewer than there are groups: most rows are as they were.
    live.produce(3, "rs")
    live.wait_for_tuples("rs")
    live.signal(signal.SIGKILL)
    live.produce(3, "rs")
    live.start("3", "p", graph, files=False, options=[*few, "--results-table", "{query}"])
    live.wait_for_tuples("rs")
    live.send(Stop(mode="drain"))
    assert live.wait_until_ended() == 0
    expected = live.expected("busy")
    assert len(expected) > 5
    with psycopg.connect(url) as connection:
        assert sorted(connection.execute("SELECT k, n FROM busy").fetchall()) == expected
        assert connection.execute("SELECT whole FROM millrace_tables").fetchall() == [(True,)]
    rows, _, state = table_keys(TOPOLOGY, "busy")
    found = [json.loads(row) for row in live.client.hgetall(rows).values()]
    assert sorted((row["k"], row["n"]) for row in found) == expected
    assert live.client.hget(state, "whole") == b"1"
