"""What a receiver of webhooks gets: signed, in order, and again until it is taken."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from jobs.protocol.webhooks import Policy
from jobs.recovery.manifest import BatchFigures, Manifest, OutputFile
from jobs.sinks.connector import BatchResults, KeyedTable
from jobs.sinks.outbox import Outbox
from jobs.sinks.publisher import Publisher
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
    assert receiver.keys == [*keys[:3], *keys[2:]]
    assert list(receiver.taken) == keys
    small, *parts = receiver.taken.values()
    assert small == {
        **{"version": 1, "checkpoint": "c", "batch": 4, "query": "a", "complete_since_us": 17},
        **{"part": 0, "parts": 1, "results": [{"x": None, "at": "1970-01-01"}]},
    }
    assert [row["n"] for part in parts for row in part["results"]] == list(range(rows))
    assert [(part["part"], part["parts"]) for part in parts] == [(0, 3), (1, 3), (2, 3)]
    assert WebhookSink(receiver.url, SECRET, OPEN, "c", tmp_path / "webhook.json").connect() == 4


def test_each_result_comes_alone_in_order_and_again_until_it_is_taken(
    receiver: Receiver, tmp_path: Path
) -> None:
    first = batch(tmp_path, 4, pa.table({"n": range(3)}), "late flights")
    other = batch(tmp_path, 4, pa.table({"x": [1.5], "_deleted": [False]}), "a")
    tables = {"a": KeyedTable(("x",), 2, 1)}
    results = BatchResults(4, (*first.files, *other.files), {"late flights": 17}, tables)

    def sink() -> WebhookSink:
        return WebhookSink(receiver.url, SECRET, OPEN, "c", tmp_path / "webhook.json", "result")

    receiver.statuses = [0, 0, 500]
    with pytest.raises(Away, match="answered 500"):
        sink().publish(results)
    # Of another process, which only has what was written.
    assert sink().connect() == -1
    sink().publish(results)
    keys = ["c-4-result-0-a", *(f"c-4-result-{place}-late%20flights" for place in range(3))]
    assert receiver.keys == [*keys[:3], *keys[2:]]
    assert list(receiver.taken) == keys
    changed, *late = receiver.taken.values()
    head = {"version": 1, "checkpoint": "c", "batch": 4}
    assert changed == {
        **{**head, "query": "a", "complete_since_us": None, "key": ["x"], "begin": 2},
        **{"place": 0, "places": 1, "result": {"x": 1.5, "_deleted": False}},
    }
    assert late == [
        {
            **{**head, "query": "late flights", "complete_since_us": 17},
            **{"place": place, "places": 3, "result": {"n": place}},
        }
        for place in range(3)
    ]
    assert sink().connect() == 4


def test_a_query_that_is_chosen_within_a_batch_loses_nothing(receiver: Receiver, tmp_path: Path) -> None:
    late = batch(tmp_path, 4, pa.table({"n": range(3)}), "late")
    early = batch(tmp_path, 4, pa.table({"n": range(10, 12)}), "early")
    sink = WebhookSink(receiver.url, SECRET, OPEN, "c", tmp_path / "webhook.json", "result")
    receiver.statuses = [0, 0, 500]
    with pytest.raises(Away):
        sink.publish(late)
    sink.publish(BatchResults(4, (*late.files, *early.files), {}))
    assert [row["n"] for row in receiver.results] == [0, 1, 10, 11, 2]


def test_what_an_earlier_release_wrote_is_gone_on_from(receiver: Receiver, tmp_path: Path) -> None:
    record = tmp_path / "webhook.json"
    record.write_text('{"batch": 3}')
    sink = WebhookSink(receiver.url, SECRET, OPEN, "c", record, "result")
    assert sink.connect() == 3
    sink.publish(batch(tmp_path, 4, pa.table({"n": [7]}), "q"))
    assert sink.connect() == 4


def test_a_batch_of_single_results_waits_as_a_whole(receiver: Receiver, tmp_path: Path) -> None:
    checkpoint, output = tmp_path / "checkpoint", tmp_path / "out"
    sink = WebhookSink(receiver.url, SECRET, OPEN, "c", checkpoint / "webhook.json", "result")
    outbox = Outbox(checkpoint, output, False, ["webhook"])
    (output / "results").mkdir(parents=True)
    for number in range(2):
        (file,) = batch(output / "results", number, pa.table({"n": range(3)}), "q").files
        files = (OutputFile(str(file.relative_to(output)), 3, ""),)
        figures = BatchFigures(0, {}, {}, 0, ())
        outbox.add(Manifest(number, "p", 0, (), {}, {}, {}, files, None, 0, figures, ()))
    publisher = Publisher({"webhook": sink}, outbox, most=10)
    (lane,) = publisher.lanes
    receiver.statuses = [0, 0, 0, 0, 500]
    with pytest.raises(Away):
        lane.publish_waiting()
    assert publisher.waiting() == 1
    lane.publish_waiting()
    assert publisher.waiting() == 0
    assert [row["n"] for row in receiver.results] == [0, 1, 2, 0, 1, 2]
    assert len(receiver.keys) == 7


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
    given.results_webhook_per = "tuple"
    monkeypatch.delenv("MILLRACE_RESULTS_WEBHOOK_SECRET", raising=False)
    with pytest.raises(InputError, match="a secret"):
        SINK.open(given, "c")
    monkeypatch.setenv("MILLRACE_RESULTS_WEBHOOK_SECRET", SECRET)
    monkeypatch.setenv("MILLRACE_WEBHOOK_HOSTS", "*.example.org")
    with pytest.raises(InputError, match="MILLRACE_WEBHOOK_HOSTS"):
        SINK.open(given, "c")
    monkeypatch.delenv("MILLRACE_WEBHOOK_HOSTS")
    with pytest.raises(InputError, match=r"MILLRACE_RESULTS_WEBHOOK_PER.*one of batch, result"):
        SINK.open(given, "c")


def test_the_guide_refuses_a_request_without_a_signature() -> None:
    assert guide_code()(SECRET, {}, b"{}", {}) == 403
