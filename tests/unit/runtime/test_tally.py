"""Metrics as they are declared, counted, added up and told."""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from itertools import permutations

from jobs.metrics.tally import Tally, added
from jobs.protocol import EVENTS, BatchCompleted, EdgeMetrics, QueryMetrics, StoreMetrics, StreamMetrics
from jobs.protocol.metrics import StoreCounts, StreamProgress, metrics_of
from jobs.recovery.manifest import StoreState


def tally(*progress: StreamProgress) -> Tally:
    found = Tally()
    for one in progress:
        found.add(StreamProgress, "r", accepted=one.accepted, max_event_time_us=one.max_event_time_us)
    return found


def test_tasks_are_added_up_by_each_metric_s_rule_in_any_order() -> None:
    tasks = [
        tally(StreamProgress(accepted=2, max_event_time_us=-5)),
        tally(StreamProgress(accepted=0)),
        tally(StreamProgress(accepted=3, max_event_time_us=-9), StreamProgress(accepted=1)),
        Tally(),
    ]
    for order in permutations(tasks):
        together = Tally()
        for task in order:
            # As reports travel to the driver.
            together.merge(pickle.loads(pickle.dumps(task)))
        expected = StreamProgress(accepted=6, max_event_time_us=-5)
        assert together.total(StreamProgress, ["r", "s"]) == {"r": expected, "s": StreamProgress()}


def test_a_merge_leaves_what_it_took_from_alone() -> None:
    task, together = tally(StreamProgress(accepted=2)), Tally()
    together.merge(task)
    together.merge(task)
    assert task.of(StreamProgress, "accepted") == {"r": 2}
    assert together.of(StreamProgress, "accepted") == {"r": 4}


def test_a_manifest_s_store_adds_up_what_batches_counted() -> None:
    before = StoreState(inserted=5, probes=1, filter="f")
    together = added(before, StoreCounts(inserted=2, matches=3))
    assert {name: n for name, n in together.items() if n} == {"inserted": 7, "probes": 1, "matches": 3}


def test_prometheus_names_are_told_apart_by_their_labels() -> None:
    declared = [
        (metric.prometheus, metric.labels)
        for kind in (BatchCompleted, StreamMetrics, StoreMetrics, EdgeMetrics, QueryMetrics)
        for metric in metrics_of(kind).values()
        if metric.prometheus is not None
    ]
    assert len(set(declared)) == len(declared) > 10


def test_an_event_of_another_release_is_read_without_its_metrics_and_without_ours() -> None:
    store = StoreMetrics(inserted=3, tuples=5, bytes=640, per_task=[5])
    event = BatchCompleted(
        run="r",
        at=datetime(2026, 1, 1, tzinfo=UTC),
        batch=1,
        epoch=0,
        plan_id="p",
        seconds=0.1,
        tuples_in=3,
        backlog=None,
        level_seconds=[],
        streams={},
        stores={"S": store},
        edges={},
        queries={},
    )
    document = event.model_dump(mode="json")
    assert EVENTS.validate_python(document) == event
    del document["stores"]["S"]["evicted"]
    document["stores"]["S"]["spilled"] = 9
    assert EVENTS.validate_python(document) == event
