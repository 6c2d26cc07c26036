"""What a receiver of webhooks gets: signed, in order, and again until it is taken."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.protocol.webhooks import Policy
from jobs.sinks.connector import BatchResults
from jobs.sinks.webhook.connector import SINK
from jobs.sinks.webhook.posts import MOST_ROWS, WebhookSink
from jobs.sources.connector import Away
from optimizer.algebra.errors import InputError
from tests.sinks.receiver import SECRET, Receiver, guide_code, receiving
from tests.sinks.test_tables import batch

OPEN = Policy(private=True)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with receiving() as made:
        yield made


def test_a_batch_comes_in_order_and_again_until_it_is_taken(receiver: Receiver, tmp_path: Path) -> None:
    rows = 2 * MOST_ROWS + 7
    first = batch(tmp_path, 4, pa.table({"n": range(rows)}), "late flights")
    other = batch(tmp_path, 4, pa.table({"x": [float("nan")], "at": pa.array([0], pa.date32())}), "a")
    results = BatchResults(4, (*first.files, *other.files), {"a": 17})
    sink = WebhookSink(receiver.url, SECRET, OPEN, "c", tmp_path / "webhook.json")
    assert sink.connect() == -1
    receiver.statuses = [0, 0, 503]
    with pytest.raises(Away, match="answered 503"):
        sink.publish(results)
    assert sink.connect() == -1
    sink.publish(results)
    keys = ["c-4-0-a", "c-4-0-late%20flights", "c-4-1-late%20flights", "c-4-2-late%20flights"]
    assert receiver.keys == [*keys[:3], *keys]
    assert list(receiver.taken) == keys
    small, *parts = receiver.taken.values()
    assert small == {
        **{"version": 1, "checkpoint": "c", "batch": 4, "query": "a", "complete_since_us": 17},
        **{"part": 0, "parts": 1, "results": [{"x": None, "at": "1970-01-01"}]},
    }
    assert [row["n"] for part in parts for row in part["results"]] == list(range(rows))
    assert [(part["part"], part["parts"]) for part in parts] == [(0, 3), (1, 3), (2, 3)]
    assert WebhookSink(receiver.url, SECRET, OPEN, "c", tmp_path / "webhook.json").connect() == 4


def test_a_request_that_others_signed_is_refused(receiver: Receiver, tmp_path: Path) -> None:
    sink = WebhookSink(receiver.url, "another secret", OPEN, "c", tmp_path / "webhook.json")
    with pytest.raises(Away, match="answered 403"):
        sink.publish(batch(tmp_path, 0, pa.table({"n": [1]}), "q"))
    assert not receiver.taken


def test_private_addresses_get_nothing(receiver: Receiver, tmp_path: Path) -> None:
    sink = WebhookSink(receiver.url, SECRET, replace(OPEN, private=False), "c", tmp_path / "webhook.json")
    with pytest.raises(Away, match="no public address"):
        sink.publish(batch(tmp_path, 0, pa.table({"n": [1]}), "q"))
    assert not receiver.keys


def test_what_cannot_be_is_refused_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given = argparse.Namespace(results_webhook="https://elsewhere.test/", checkpoint=tmp_path)
    monkeypatch.delenv("MILLRACE_RESULTS_WEBHOOK_SECRET", raising=False)
    with pytest.raises(InputError, match="a secret"):
        SINK.open(given, "c")
    monkeypatch.setenv("MILLRACE_RESULTS_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("MILLRACE_WEBHOOK_HOSTS", "*.example.org")
    with pytest.raises(InputError, match="MILLRACE_WEBHOOK_HOSTS"):
        SINK.open(given, "c")


def test_the_guide_refuses_a_request_without_a_signature() -> None:
    assert guide_code()(SECRET, {}, b"{}", {}) == 403
