"""When a topology is worth a message."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from backend.alerts.conditions import Limits, Observed, conditions
from jobs.protocol import StreamMetrics

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
ALL = Limits(True, timedelta(seconds=60), timedelta(seconds=30), 2, 500, 100)


def metrics(newest_s: float | None, lateness_s: float = 0) -> StreamMetrics:
    newest = None if newest_s is None else datetime(2013, 1, 1, tzinfo=UTC) + timedelta(seconds=newest_s)
    mark = None if newest is None else newest - timedelta(seconds=lateness_s)
    return StreamMetrics(accepted=1, late=0, undecodable=0, watermark=mark, max_event_time=newest)


def observed(**changes: object) -> Observed:
    fields: dict[str, object] = {"error": None, "wanted": True, "streams": {}, "waiting_since": None}
    return Observed(**{**fields, **changes})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("seen", "kinds"),
    [
        (observed(), []),
        (observed(error="the disk is full"), ["failed"]),
        (observed(error="the disk is full", wanted=False), ["failed"]),
        (observed(streams={"a": metrics(100), "b": metrics(40)}), []),
        (observed(streams={"a": metrics(100), "b": metrics(39)}), ["lag"]),
        # What a stream's own lateness allows is no lag, neither alone nor on top of a real one.
        (observed(streams={"a": metrics(100, 3600)}), []),
        (observed(streams={"a": metrics(100), "b": metrics(40, 3600)}), []),
        (observed(streams={"a": metrics(100), "b": metrics(None)}), []),
        (observed(streams={"a": metrics(100), "b": metrics(0)}, wanted=False), []),
        (observed(waiting_since=NOW - timedelta(seconds=30)), []),
        (observed(waiting_since=NOW - timedelta(seconds=31)), ["stuck"]),
        (observed(waiting_since=NOW - timedelta(seconds=31), wanted=False), []),
        (observed(differing={"pairs": "1 missing"}), ["differs"]),
        (observed(letters={"a": 1, "b": 1}), []),
        (observed(letters={"a": 1, "b": 2}), ["letters"]),
        (observed(letters={"a": 1, "b": 2}, wanted=False), []),
        (observed(latency_ms={"pairs": 500.0, "three": 90.0}), []),
        (observed(latency_ms={"pairs": 500.5, "three": 90.0}), ["latency"]),
        (observed(state_bytes=100 << 20), []),
        (observed(state_bytes=(100 << 20) + 1), ["state"]),
    ],
)
def test_what_is_told(seen: Observed, kinds: list[str]) -> None:
    assert [kind for kind, _ in conditions(seen, ALL, NOW)] == kinds
    assert conditions(seen, Limits(False, None, None), NOW) == []


def test_the_line_names_the_slowest_stream() -> None:
    seen = observed(streams={"a": metrics(100), "b": metrics(20)}, waiting_since=NOW - timedelta(seconds=90))
    assert [text for _, text in conditions(seen, ALL, NOW)] == [
        "the newest tuple of b is 0:01:20 older than that of another stream",
        "tuples have waited for 90 s and no batch was committed",
    ]


def test_the_lines_of_amounts() -> None:
    seen = observed(
        letters={"a": 3, "b": 0, "c": 1},
        latency_ms={"pairs": 1234.5, "three": 90.0},
        state_bytes=2500 << 20,
    )
    assert [text for _, text in conditions(seen, ALL, NOW)] == [
        "dead letters in the last minute: 3 of a, 1 of c",
        "one in 100 results of pairs takes 1,234 ms or more",
        "its stores hold 2,500 MB",
    ]
