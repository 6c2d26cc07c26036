"""Subscriptions: each result once, in order, from any batch that is kept; what is lost is told."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa
import pytest
from django.contrib.auth.models import User
from django.test import AsyncClient, Client
from pytest_django import Settings

from backend.accounts.models import Team
from backend.catalog.models import Query
from backend.client import ClientError, Millrace, Refused
from backend.client import tables as client_tables
from backend.deployments.actions import undeploy_query
from backend.live.subscription.kept import begin_keeping, end_keeping, kept_from, newest_final, prune
from backend.topologies.models import Topology
from jobs.protocol.sealed import seal
from tests.api.asynchronous import run as tell
from tests.api.conftest import Run
from tests.api.live.listening import ends, next_event, served, session, written

ID = "0123abcd" * 4


class Writer:
    """A job's part: the checkpoint and the result files of the topology `flights`."""

    def __init__(self, home: Path) -> None:
        self.home = home / "topologies" / "flights"
        self.checkpoint(ID)

    def checkpoint(self, identity: str) -> None:
        (self.home / "checkpoint" / "commits").mkdir(parents=True, exist_ok=True)
        document = {"kind": "run", "subject": "flights", "partitions": 2, "id": identity, "version": 2}
        (self.home / "checkpoint" / "checkpoint.json").write_text(json.dumps(document))

    def batch(self, number: int, *parts: Sequence[int], shown: bool = True, **columns: Any) -> None:
        """Commit a batch whose tasks gave these results."""
        files = []
        for task, flights in enumerate(parts):
            path = f"results/windy/{number:08d}-1-{task:03d}.parquet"
            target = self.home / "out" / path
            target.parent.mkdir(parents=True, exist_ok=True)
            frame = pl.DataFrame({"flight": list(flights)}, schema={"flight": pl.Int64}).with_columns(
                at=pl.lit(datetime(2013, 1, 1, tzinfo=UTC)).cast(pl.Datetime("us", "UTC")), **columns
            )
            frame.write_parquet(target if shown else target.with_name(f".{target.name}.pending"))
            files.append({"path": path, "rows": len(flights), "attempt": "x"})
        commits = self.home / "checkpoint" / "commits"
        manifest = json.dumps({"batch": number, "files": files}).encode()
        (commits / f"{number}.json").write_bytes(seal(manifest))
        (commits / f"{number - 16}.json").unlink(missing_ok=True)


@pytest.fixture
def writer(topology: Topology, settings: Settings) -> Writer:
    written = Writer(Path(settings.MILLRACE_HOME))
    begin_keeping("flights")
    return written


@pytest.fixture
def url(query: Query) -> str:
    return f"/api/queries/{query.pk}/subscription/"


def rows(answer: Any) -> list[int]:
    assert answer.status_code == 200, answer.content
    return [row["flight"] for row in answer.json()["rows"]]


def test_every_result_comes_once_whatever_the_pages_are(writer: Writer, as_owner: Client, url: str) -> None:
    writer.batch(0, [1, 2], [3])
    writer.batch(1)
    writer.batch(2, [], [4, 5, 6, 7])
    for limit in (1, 2, 3, 100):
        cursor, found, batches = "0", [], []
        for _ in range(12):
            answer = as_owner.get(url, {"since": cursor, "limit": limit})
            found += rows(answer)
            batches += answer.json()["batches"]
            cursor = answer.json()["cursor"]
            assert len(rows(answer)) <= limit
        assert found == [1, 2, 3, 4, 5, 6, 7]
        assert batches == [0, 0, 0, 2, 2, 2, 2]
        assert cursor == f"{ID[:8]}.3.0"
    writer.batch(3, [8])
    assert rows(as_owner.get(url, {"since": cursor})) == [8]
    # From now on: nothing of before.
    answer = as_owner.get(url)
    assert (rows(answer), answer.json()["cursor"]) == ([], f"{ID[:8]}.4.0")
    assert rows(as_owner.get(url, {"since": "2"})) == [4, 5, 6, 7, 8]


def test_a_batch_is_read_once_all_of_its_files_have_their_names(
    writer: Writer, as_owner: Client, url: str
) -> None:
    writer.batch(0, [1])
    writer.batch(1, [2], [3], shown=False)
    out = writer.home / "out/results/windy"
    hidden = sorted(out.glob(".*.pending"))
    hidden[0].rename(out / "00000001-1-000.parquet")
    assert newest_final("flights", "windy") == 0
    assert rows(as_owner.get(url, {"since": "0"})) == [1]
    hidden[1].rename(out / "00000001-1-001.parquet")
    assert rows(as_owner.get(url, {"since": "0"})) == [1, 2, 3]


def test_what_a_sink_still_has_to_get_is_kept(writer: Writer, as_owner: Client, url: str) -> None:
    for number in range(4):
        writer.batch(number, [number])
    outbox = writer.home / "checkpoint/outbox"
    outbox.mkdir()
    (outbox / "1.json").write_text("[]")
    assert prune("flights", 1) == 1
    assert rows(as_owner.get(url, {"since": "1"})) == [1, 2, 3]
    (outbox / "1.json").unlink()
    assert prune("flights", 1) == 3


def test_what_is_no_longer_kept_is_told(writer: Writer, as_owner: Client, url: str) -> None:
    for number in range(5):
        writer.batch(number, [number])
    cursor = as_owner.get(url, {"since": "1", "limit": 1}).json()["cursor"]
    size = (writer.home / "out/results/windy/00000000-1-000.parquet").stat().st_size
    assert prune("flights", 2.5 * size) == 3
    assert kept_from("flights") == 3
    gone = as_owner.get(url, {"since": cursor})
    assert gone.status_code == 410
    assert "batch 2 of flights is no longer kept; its results are from batch 3 on" in gone.json()["detail"]
    assert rows(as_owner.get(url, {"since": "3"})) == [3, 4]
    assert rows(as_owner.get(url, {"since": "earliest"})) == [3, 4]
    # The newest stays, whatever it takes.
    assert prune("flights", 1) == 4
    assert rows(as_owner.get(url, {"since": "4"})) == [4]
    # Another checkpoint has the same numbers, and other results.
    writer.checkpoint("f" * 32)
    begin_keeping("flights")
    assert as_owner.get(url, {"since": cursor}).status_code == 410
    assert sorted(path.name for path in writer.home.glob("out*")) == ["out", f"out-{ID[:8]}"]
    # A job that kept none in between: whoever reads on would miss some.
    end_keeping("flights")
    refused = as_owner.get(url, {"since": "0"})
    assert (refused.status_code, refused.json()["code"]) == (409, "results-not-kept")
    begin_keeping("flights")
    assert kept_from("flights") == 5


@pytest.mark.parametrize("since", ["x", "-1", "0123abcd.1", "zzzzzzzz.1.1", "1.2.3", "9" * 30])
def test_nonsense_is_no_cursor(writer: Writer, as_owner: Client, url: str, since: str) -> None:
    answer = as_owner.get(url, {"since": since})
    assert answer.status_code == 400
    assert "expected a cursor" in json.dumps(answer.json())


def test_pages_end_where_the_columns_change(writer: Writer, as_owner: Client, url: str) -> None:
    writer.batch(0, [1])
    writer.batch(1, [2], wind=pl.lit(2.5))
    first = as_owner.get(url, {"since": "0"}).json()
    assert ([one["name"] for one in first["columns"]], first["more"]) == (["flight", "at"], True)
    second = as_owner.get(url, {"since": first["cursor"]}).json()
    assert second["rows"] == [{"flight": 2, "at": "2013-01-01T00:00:00Z", "wind": 2.5}]


def test_decimals_are_texts_with_all_their_digits(writer: Writer, as_owner: Client, url: str) -> None:
    price = pl.lit("0").cast(pl.Decimal(38, 10))
    writer.batch(0, [1], price=price, wide=pl.lit("-" + "9" * 38).cast(pl.Decimal(38, 0)))
    answer = as_owner.get(url, {"since": "0"}).json()
    (row,) = answer["rows"]
    assert (row["price"], row["wide"]) == ("0.0000000000", "-" + "9" * 38)
    assert [one["type"] for one in answer["columns"]][2:] == ["decimal128(38, 10)", "decimal128(38, 0)"]
    table = as_owner.get(url, {"since": "0", "form": "arrow"}).content
    assert pa.ipc.open_stream(table).read_all().schema.field("price").type == pa.decimal128(38, 10)


def test_arrow_has_the_types(writer: Writer, as_owner: Client, url: str) -> None:
    writer.batch(0, [1, 2])
    answer = as_owner.get(url, {"since": "0", "form": "arrow", "limit": 1})
    assert answer["Content-Type"] == "application/vnd.apache.arrow.stream"
    assert (answer["Millrace-Cursor"], answer["Millrace-More"]) == (f"{ID[:8]}.0.1", "true")
    table = pa.ipc.open_stream(answer.content).read_all()
    assert table.schema.field("at").type == pa.timestamp("us", "UTC")
    assert table.schema.metadata[b"millrace.cursor"] == answer["Millrace-Cursor"].encode()


def test_events_bring_what_comes_and_begin_again_where_they_stopped(
    writer: Writer, owner: User, url: str, transactional_db: None
) -> None:
    writer.batch(0, [1, 2])

    async def story() -> None:
        client: AsyncClient = await session(owner)
        stream = served(await client.get(f"{url}events/?since=0"))
        first = await next_event(stream)
        assert first["event"] == "results"
        assert [row["flight"] for row in json.loads(first["data"])["rows"]] == [1, 2]
        await asyncio.to_thread(writer.batch, 1, [3])
        second = await next_event(stream)
        assert [row["flight"] for row in json.loads(second["data"])["rows"]] == [3]
        await stream.aclose()
        await asyncio.to_thread(writer.batch, 2, [4])
        again = served(await client.get(f"{url}events/", headers={"Last-Event-ID": first["id"]}))
        third = await next_event(again)
        assert [row["flight"] for row in json.loads(third["data"])["rows"]] == [3, 4]
        await asyncio.to_thread(prune, "flights", 1)
        await again.aclose()
        gone = await client.get(f"{url}events/?since={first['id']}")
        assert gone.status_code == 410

    tell(story)


def test_events_end_when_the_query_leaves(
    writer: Writer, owner: User, query: Query, url: str, transactional_db: None
) -> None:
    writer.batch(0, [1])

    async def story() -> None:
        client: AsyncClient = await session(owner)
        stream = served(await client.get(f"{url}events/?since=0"))
        assert (await next_event(stream))["event"] == "results"
        await asyncio.to_thread(undeploy_query, owner, query)
        gone = await next_event(stream)
        assert gone["event"] == "gone"
        assert "no longer answers windy" in gone["data"]

    tell(story)


def test_results_come_no_longer_when_the_right_goes(
    writer: Writer, owner: User, teammate: User, team: Team, query: Query, url: str, transactional_db: None
) -> None:
    writer.batch(0, [1])
    Query.objects.filter(pk=query.pk).update(team=team)
    Team.objects.filter(pk=team.pk).update(private=True)

    async def story() -> None:
        client: AsyncClient = await session(teammate)
        stream = served(await client.get(f"{url}events/?since=0"))
        assert (await next_event(stream))["event"] == "results"
        polling = Client()
        await written(polling.force_login, teammate)
        waiting = asyncio.create_task(asyncio.to_thread(polling.get, f"{url}?since=1&wait=15"))
        await asyncio.sleep(0.5)
        await written(team.members.remove, teammate)
        assert await ends(stream)
        assert (await waiting).status_code == 404, "nor one that waits"
        await asyncio.to_thread(writer.batch, 1, [2])
        assert (await client.get(f"{url}?since=1")).status_code == 404
        assert (await client.get(f"{url}events/?since=0")).status_code == 404

    tell(story)


def test_the_command_goes_on_from_its_cursor(writer: Writer, run: Run) -> None:
    writer.batch(0, [1, 2])
    done = run("tail", "windy", "--since", "0", "--once")
    assert done.returncode == 0, done.stderr
    assert [json.loads(line)["flight"] for line in done.stdout.splitlines()] == [1, 2]
    assert done.stderr == f"cursor {ID[:8]}.1.0\n"
    writer.batch(1, [3])
    again = run("tail", "windy", "--once", "--since", done.stderr.split()[1])
    assert [json.loads(line)["flight"] for line in again.stdout.splitlines()] == [3]
    lost = run("tail", "windy", "--once", "--since", "ffffffff.0.0")
    assert (lost.returncode, "began anew since" in lost.stderr) == (1, True)


def test_tables_from_python(writer: Writer, millrace: Millrace, monkeypatch: pytest.MonkeyPatch) -> None:
    writer.batch(0, [1, 2])
    writer.batch(1, [3])
    table = millrace.table("windy", since=0)
    assert (len(table), table.cursor) == (3, f"{ID[:8]}.2.0")
    assert table.polars()["flight"].to_list() == [1, 2, 3]
    assert table.pandas()["flight"].tolist() == [1, 2, 3]
    assert table.arrow().num_rows == 3
    assert len(millrace.table("windy", since=0, limit=2)) == 2
    results = millrace.subscribe("windy", since=0)
    assert [next(results).row["flight"] for _ in range(3)] == [1, 2, 3]
    with pytest.raises(Refused) as refused:
        millrace.table("windy", since="ffffffff.0.0")
    assert refused.value.status == 410

    def missing(name: str) -> object:
        raise ImportError(name)

    monkeypatch.setattr(client_tables.importlib, "import_module", missing)
    with pytest.raises(ClientError, match="pyarrow is not installed: pip install pyarrow"):
        millrace.table("windy", since=0)
