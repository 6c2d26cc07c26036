"""SIGKILL to what publishes results, at each point between the outbox and the end of its entry."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psycopg
import pytest
from pyiceberg.catalog import load_catalog

from tests.postgres.conftest import Server
from tests.sinks.publisher import BATCHES, POINTS, ROWS
from tests.sinks.receiver import SECRET, receiving

ROOT = Path(__file__).resolve().parents[2]
EVERYTHING = list(range(BATCHES * ROWS))


def publish_twice(
    checkpoint: Path,
    sink: str,
    pattern: str,
    point: str,
    more: Mapping[str, str],
    then: Mapping[str, str] | None = None,
) -> None:
    """Publish until it is killed at a point, and again, perhaps under another environment then."""
    command = [sys.executable, "-m", "tests.sinks.publisher", sink, pattern, str(checkpoint)]

    def publish(environment: Mapping[str, str], *point: str) -> int:
        return subprocess.run(
            [*command, *point], cwd=ROOT, env={**os.environ, **environment}, check=False
        ).returncode

    assert publish(more, point) == -signal.SIGKILL
    assert publish(more if then is None else then) == 0
    assert not list((checkpoint / "outbox").iterdir())
    assert not list((checkpoint / "results").rglob("*.parquet"))


@pytest.mark.parametrize("point", POINTS)
def test_a_table_of_postgresql_has_every_result_once(postgres: Server, tmp_path: Path, point: str) -> None:
    url = postgres.fresh("results")
    more = {"MILLRACE_POSTGRES_RESULTS_URL": url}
    publish_twice(tmp_path / "checkpoint", "postgres", "live.{query}", point, more)
    with psycopg.connect(url) as connection:
        rows = connection.execute("SELECT n, _batch FROM live.numbers ORDER BY n").fetchall()
    assert rows == [(n, n // ROWS) for n in EVERYTHING]


@pytest.mark.parametrize("point", POINTS)
def test_an_iceberg_table_has_every_result_once(catalog: dict[str, str], tmp_path: Path, point: str) -> None:
    publish_twice(tmp_path / "checkpoint", "iceberg", "live.{query}", point, catalog)
    properties = {name.rpartition("__")[2].lower(): value for name, value in catalog.items() if "__" in name}
    table = load_catalog("lake", **properties).load_table("live.numbers")
    assert sorted(table.scan().to_arrow().column("n").to_pylist()) == EVERYTHING
    snapshots = [one.summary for one in table.snapshots()]
    assert [one["millrace.batch"] for one in snapshots if one is not None] == ["0", "1", "2"]


def _posting(per: str) -> dict[str, str]:
    return {
        "MILLRACE_RESULTS_WEBHOOK_SECRET": SECRET,
        "MILLRACE_WEBHOOK_PRIVATE": "1",
        "MILLRACE_RESULTS_WEBHOOK_PER": per,
    }


@pytest.mark.parametrize("per", ["batch", "result"])
@pytest.mark.parametrize("point", [*POINTS, "noted"])
def test_a_receiver_of_webhooks_knows_what_comes_again(tmp_path: Path, point: str, per: str) -> None:
    with receiving() as receiver:
        publish_twice(tmp_path / "checkpoint", "webhook", receiver.url, point, _posting(per))
    bodies = list(receiver.taken.values())
    each = ROWS if per == "result" else 1
    assert [body["batch"] for body in bodies] == [batch for batch in range(BATCHES) for _ in range(each)]
    assert [row["n"] for row in receiver.results] == EVERYTHING
    # Only what the receiver had taken when nobody had written that yet.
    again = len(receiver.keys) - len(receiver.taken)
    assert again == (1 if point == "sent" else 0)


@pytest.mark.parametrize("per", ["batch", "result"])
@pytest.mark.parametrize("point", ["outbox", "sent", "noted"])
def test_a_batch_ends_with_the_keys_that_it_began_with(tmp_path: Path, point: str, per: str) -> None:
    other = {"batch": "result", "result": "batch"}[per]
    with receiving() as receiver:
        checkpoint = tmp_path / "checkpoint"
        publish_twice(checkpoint, "webhook", receiver.url, point, _posting(per), _posting(other))
    # Another key would bring a result twice.
    assert [row["n"] for row in receiver.results] == EVERYTHING
    last = [body for body in receiver.taken.values() if body["batch"] == BATCHES - 1]
    # Of a batch in the outbox nothing was sent: it begins under the new choice.
    expected = other if point == "outbox" else per
    assert len(last) == (ROWS if expected == "result" else 1)
