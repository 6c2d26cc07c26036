"""Whatever is sent to the ingest endpoint, and by whom, it is refused as a whole or the job can read all of
it, and finds none of it ahead of its arrival."""

from __future__ import annotations

import json
import os
from datetime import UTC, date, datetime, timedelta

import numpy as np
import polars as pl
import pytest
from django.contrib.auth.models import User
from django.core.cache import cache
from django.test import Client
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from backend.redis import connection
from backend.streams.actions import StreamSpec, create_stream
from jobs.protocol import stream_key
from jobs.sources.ahead import beyond, latest_times
from jobs.sources.formats.decode import parse_json
from optimizer.algebra.types import COLUMN_TYPES, ColumnType
from optimizer.physical.graph import GraphStream

pytestmark = pytest.mark.django_db
EXAMPLES = int(os.environ.get("MILLRACE_FUZZ_EXAMPLES", "150"))
COLUMNS = (
    ("at", ColumnType.TIMESTAMP),
    *((kind.value, kind) for kind in (*COLUMN_TYPES, ColumnType.decimal(12, 2))),
)
STREAM = GraphStream("things", "at", COLUMNS, 0, "drop")
REFUSALS = {400, 413, 415}

numbers = st.one_of(
    st.integers(),
    st.integers(-(2**70), 2**70),
    st.sampled_from([2**31, -(2**31) - 1, 2**63, -(2**63) - 1, 10**400]),
    st.floats(),
)
moments = st.one_of(
    st.datetimes().map(lambda value: value.isoformat()),
    st.dates().map(str),
    # On both sides of how far ahead of its arrival an event time may lie.
    st.floats(-50, 50).map(lambda hours: (datetime.now(UTC) + timedelta(hours=hours)).isoformat()),
    st.dates(max_value=date(2026, 1, 1)).map(str),
    st.sampled_from(
        [
            "2013-01-01T10:00:00Z",
            "2013-01-01T10:00:00+99:99",
            "0000-01-01",
            "9999-12-31T23:59:59.999999999-14:00",
        ]
    ),
    st.from_regex(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,12})?(Z|[+-]\d\d:\d\d)?", fullmatch=True),
)
leaves = st.one_of(st.none(), st.booleans(), numbers, st.text(max_size=20), moments, st.just("AAAA"))
documents = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
)
names = st.sampled_from([name for name, _ in COLUMNS]) | st.text(max_size=8)
rows = st.fixed_dictionaries(
    {"at": moments | leaves},
    optional={
        "bigint": numbers | leaves,
        "int": numbers | leaves,
        "double": numbers | leaves,
        "string": st.text() | leaves,
        "boolean": leaves,
        "timestamp": moments | leaves,
        "date": moments | leaves,
        "binary": st.binary().map(lambda raw: raw.hex()) | st.text() | leaves,
    },
)
events = st.one_of(rows, st.dictionaries(names, documents, max_size=4), documents)


def _written(value: object) -> bytes:
    return json.dumps(value).encode()


bodies = st.one_of(
    st.binary(max_size=200),
    events.map(_written),
    st.lists(rows | events, max_size=5).map(_written),
    st.lists((rows | events).map(_written), max_size=5).map(b"\n".join),
    st.tuples(events.map(_written), st.integers(0, 60), st.binary(max_size=4)).map(
        lambda parts: parts[0][: parts[1]] + parts[2] + parts[0][parts[1] :]
    ),
)
kinds = st.sampled_from(
    ["application/json", "application/x-ndjson", "application/x-ndjson", "text/csv", "json", ""]
)


@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=list(HealthCheck),
)
@given(body=bodies, kind=kinds)
@example(body=b"[" * 100_000, kind="application/json")
@example(body=b'{"at": ' + b"1" * 100_000 + b"}", kind="application/json")
@example(body=b'{"at": "2013-01-01T10:00:00Z", "double": 1e400}', kind="application/json")
@example(body=b'{"at": "2013-01-01T10:00:00Z", "string": "\\ud800"}', kind="application/json")
@example(body=b'{"at": "2013-01-01T10:00:00Z", "string": "\\u0000"}', kind="application/json")
@example(body=b'{"at": "9999-12-31"}', kind="application/json")
@example(body=b"{}\n" * 1000, kind="application/x-ndjson")
@example(body=b"\xff\xfe{}", kind="application/x-ndjson")
def test_it_is_refused_or_the_job_reads_it(db: None, bus: object, body: bytes, kind: str) -> None:
    owner, _ = User.objects.get_or_create(username="ann")
    client = Client(raise_request_exception=False)
    client.force_login(owner)
    stranger = Client(raise_request_exception=False)
    stranger.force_login(User.objects.get_or_create(username="zoe")[0])
    # Rates are counted in memory; here they would end the search.
    cache.clear()
    key = stream_key("things")
    connection().delete(key)
    if not owner.streams.filter(name="things").exists():
        create_stream(owner, StreamSpec("things", COLUMNS, "at"))
    refused = stranger.post("/api/streams/things/events/", body, content_type=kind)
    assert refused.status_code in REFUSALS | {403}
    assert connection().xlen(key) == 0
    answer = client.post("/api/streams/things/events/", body, content_type=kind)
    stored = [fields["json"].encode() for _, fields in connection().xrange(key)]
    if answer.status_code != 202:
        assert answer.status_code in REFUSALS, (answer.status_code, answer.content[:300])
        assert stored == []
        return
    assert answer.json()["accepted"] == len(stored)
    if stored:
        table, kept, broken = parse_json(stored, COLUMNS)
        assert (len(kept), broken) == (len(stored), [])
        assert table["at"].null_count == 0
        arrived_ms = np.array([int(entry.split("-")[0]) for entry, _ in connection().xrange(key)], np.int64)
        times = pl.DataFrame(pl.from_arrow(table))["at"].cast(pl.Int64)
        assert beyond(times, latest_times(STREAM, arrived_ms, None)) is None
