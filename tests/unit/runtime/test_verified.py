"""What sinks are told of the continuous check: of the plan in use only, and nothing until it is said."""

from __future__ import annotations

from jobs.protocol import CONTROL, Control, Verified
from jobs.sinks.verified import VerifiedTimes


def said(plan_id: str, **until_us: int | None) -> Verified:
    """As it comes out of Redis."""
    message: Control = CONTROL.validate_json(Verified(plan_id=plan_id, until_us=until_us).model_dump_json())
    assert isinstance(message, Verified)
    return message


def test_what_is_said_of_queries_adds_up() -> None:
    times = VerifiedTimes()
    times.committed("p", 4)
    assert times.of_batch(4) == {}
    assert times.take(said("p", a=10, b=20))
    times.committed("p", 5)
    assert times.take(said("p", a=30))
    assert times.of_batch(5) == {"a": 30, "b": 20}
    assert times.take(said("p", b=None))
    assert times.of_batch(5) == {"a": 30}


def test_nothing_is_known_before_a_batch_says_which_plan_is_in_use() -> None:
    times = VerifiedTimes()
    assert not times.take(said("p", a=10))
    times.committed("p", 0)
    assert times.of_batch(0) == {}


def test_another_plan_begins_with_nothing() -> None:
    times = VerifiedTimes()
    times.committed("p", 4)
    times.take(said("p", a=10))
    times.committed("q", 5)
    assert times.of_batch(5) == {}
    # A check of the plan before may end behind the switch.
    assert not times.take(said("p", a=20))
    assert times.take(said("q", a=30))
    assert times.of_batch(5) == {"a": 30}
    # It still waits, and under its plan the query may have been another one.
    assert times.of_batch(4) == {}
