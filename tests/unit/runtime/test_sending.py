"""Messages to where tuples already are: no other task than hashing would have chosen."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import polars as pl
import pytest

from jobs.plan.index import index_of
from jobs.plan.stage_fusion import stages_of
from jobs.plan.tuples import Message, column_name
from jobs.storage.key_hash import hash_tasks
from jobs.worker.exchange import Outbox, Row, open_wires
from jobs.worker.ingest import ingest
from jobs.worker.task import BatchContext
from optimizer.algebra.types import ColumnType
from optimizer.logical.catalog import Catalog
from optimizer.logical.stream import Stream
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.plan import plan
from optimizer.sql import parse_query
from tests.unit.runtime.in_process import Topology

TYPES = {"k": ColumnType.BIGINT, "d": ColumnType.DOUBLE, "s": ColumnType.STRING}
COLUMNS = (("at", ColumnType.TIMESTAMP), *TYPES.items())


def graph(condition: str, tasks: int) -> PhysicalGraph:
    catalog = Catalog(tuple(Stream(name, COLUMNS, "at", lateness=timedelta(0)) for name in ("r", "s", "t")))
    text = (
        "SELECT r.k AS a, s.k AS b, t.k AS c FROM r [RANGE 9 SECONDS], s [RANGE 9 SECONDS], "
        f"t [RANGE 9 SECONDS] WHERE {condition}"
    )
    return plan([parse_query(text, "q", catalog)], catalog, method="flat", tasks=tasks).graph


def tuples(seed: int) -> pl.DataFrame:
    numbers = pl.Series(range(200)).hash(seed) % 40
    return pl.DataFrame(
        {
            "at": pl.Series([0] * 200).cast(pl.Datetime("us", "UTC")),
            "k": numbers.cast(pl.Int64),
            "d": (numbers % 7).cast(pl.Float64) / 2 - 0.0,
            "s": numbers.cast(pl.String),
        }
    )


@pytest.mark.parametrize("key", ["k", "d", "s"])
def test_tuples_stay_where_hashing_would_send_them(
    key: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = graph(f"r.{key} = s.{key} AND s.{key} = t.{key}", tasks=3)
    index = index_of(made)
    behind = [edge for edge in made.edges if edge.level > 1]
    assert behind
    assert index.staying == {edge.id for edge in behind}
    monkeypatch.setattr(BatchContext, "stages", lambda _, graph: stages_of(graph, frozenset()))
    topology = Topology(made, tmp_path)
    topology.feed({name: tuples(seed).to_arrow() for seed, name in enumerate("rst")})
    sent = [(task, wire) for task, wire in topology.executor.sent if wire[0] in index.staying]
    messages = [message for task, wire in sent for message in open_wires(task, [wire])]
    assert len({message.partition for message in messages}) == 3
    for message in messages:
        sent = index.edges[message.edge].key
        assert sent is not None
        keys = message.body[column_name(sent)]
        assert set(hash_tasks(keys, 3)) == {message.partition}


@pytest.mark.parametrize(
    ("condition", "why"),
    [
        ("r.k = s.k AND s.s = t.s", "another column"),
        ("r.k = s.d AND s.d = t.k", "equal across types"),
        ("r.k = s.k + 0 AND s.k = t.k", "an expression"),
    ],
)
def test_tuples_are_hashed_again_by_another_key(condition: str, why: str) -> None:
    made = graph(condition, tasks=3)
    probes = [edge for edge in made.edges if edge.level > 1]
    assert not index_of(made).staying & {e.id for e in probes if not _same(made, e.id)}, why


def _same(made: PhysicalGraph, edge: str) -> bool:
    """True if an edge's key is the very column by which the sender's tuples came."""
    index = index_of(made)
    rule = index.rules[index.edges[edge].origin]
    assert rule.kind == "probe"
    return index.edges[edge].key == index.edges[rule.edge].key


def _rows(near: tuple[int, ...], folder: Path) -> tuple[list[Message], list[Row]]:
    """What a stream's first tuples are as messages, and as the rows that leave their task."""
    made = graph("r.k = s.k AND s.k = t.k", tasks=2)
    sent = ingest(made, "s", tuples(1).to_arrow(), None, 0, None).messages
    with Outbox(made, 2, str(folder), "0-0-0", near) as outbox:
        outbox.send(sent)
    return sent, outbox.rows


def test_edges_that_place_tuples_alike_share_what_is_written(tmp_path: Path) -> None:
    sent, rows = _rows((), tmp_path)
    assert len(rows) == len(sent) > 2
    # One body for each task: the store's edge and the probes' lead to the same places.
    assert len({wire[1:] for _, wire in rows}) == len({id(message.body) for message in sent}) == 2
    opened = [message for task in (0, 1) for message in open_wires(task, [w for t, w in rows if t == task])]
    assert len({id(message.body) for message in opened}) == 2
    assert _content(opened) == _content(sent)


def test_what_stays_in_the_process_is_not_written(tmp_path: Path) -> None:
    sent, rows = _rows((0, 1), tmp_path)
    assert not list(tmp_path.iterdir())
    opened = [message for task in (0, 1) for message in open_wires(task, [w for t, w in rows if t == task])]
    assert {id(message.body) for message in opened} == {id(message.body) for message in sent}
    assert _content(opened) == _content(sent)


def _content(messages: list[Message]) -> list[tuple[str, int, list[dict[str, object]]]]:
    return sorted((m.edge, m.partition, m.body.to_dicts()) for m in messages)


TEXTS = (
    "",
    "a",
    "twelve bytes",
    "thirteen byte",
    "b\u00e4\u00fc\u00df",
    "longer: \u00e4\u00f6\u6f22\u5b57",
    None,
)


@pytest.mark.parametrize("near", [(), (0, 1)])
@pytest.mark.parametrize("count", [7, 5000])
def test_texts_arrive_as_they_were(near: tuple[int, ...], count: int, tmp_path: Path) -> None:
    """Those that Polars keeps within a view and longer ones, NULL, bytes that are no text; of a part of rows
    that came out of a join, some of which are there many times and most not at all."""
    made = graph("r.k = s.k AND s.k = t.k", tasks=2)
    stored = pl.DataFrame({"text": [TEXTS[n % len(TEXTS)] for n in range(count)]}).with_columns(
        pl.col("text").cast(pl.Binary).alias("raw"), pl.int_range(count).cast(pl.String).alias("own")
    )
    few = stored[pl.Series([n * n % count // 3 for n in range(count)], dtype=pl.UInt32)].slice(1, count - 3)
    with Outbox(made, 2, str(tmp_path), "0-0-0", near) as outbox:
        outbox.send([Message(made.edges[0].id, 0, few)])
    (opened,) = open_wires(0, [wire for _, wire in outbox.rows])
    assert opened.body.equals(few, null_equal=True)


def test_a_message_has_no_texts_but_its_own(tmp_path: Path) -> None:
    """Ten of a hundred thousand texts, as a join leaves them: views into all of them."""
    made = graph("r.k = s.k AND s.k = t.k", tasks=2)
    stored = pl.DataFrame({"text": [f"one of very many texts, number {n}" for n in range(100_000)]})
    with Outbox(made, 2, str(tmp_path), "0-0-0") as outbox:
        outbox.send([Message(made.edges[0].id, 0, stored[::100].slice(3, 600))])
    ((_, (_, _, path, _, length)),) = outbox.rows
    assert path is not None
    assert length == sum(file.stat().st_size for file in tmp_path.iterdir()) < 600 * 100
