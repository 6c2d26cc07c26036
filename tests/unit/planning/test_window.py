"""What a window answers, compared with what it means: sets of ages that lie inside."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from optimizer.algebra.digest import digest
from optimizer.logical.window import UNBOUNDED, Sliding, Window, union, window_of

WINDOWS = st.one_of(st.just(UNBOUNDED), st.integers(0, 2**70).map(Sliding))
AGES = st.integers(0, 2**71)


def inside(window: Window, age_us: int) -> bool:
    return window.reach_us is None or age_us <= window.reach_us


@given(a=WINDOWS, b=WINDOWS, age_us=AGES)
def test_unions_and_intersections_are_those_of_sets(a: Window, b: Window, age_us: int) -> None:
    assert inside(a.union(b), age_us) == (inside(a, age_us) or inside(b, age_us))
    assert inside(a.intersection(b), age_us) == (inside(a, age_us) and inside(b, age_us))
    assert a.covers(b) == (a.union(b) == a) == (a.intersection(b) == b)
    assert union([a, b, a]) == b.union(a)


@given(window=WINDOWS)
def test_documents_and_identities_have_a_number_or_nothing(window: Window) -> None:
    adapter = TypeAdapter(Window)
    assert adapter.dump_json(window) == (b"null" if window.reach_us is None else b"%d" % window.reach_us)
    assert adapter.validate_json(adapter.dump_json(window)) == window == window_of(window.document)
    assert digest("W", ("r", window)) == digest("W", ("r", window.reach_us))


def test_no_window_is_negative() -> None:
    with pytest.raises(ValueError, match="0 or more, not -1 MICROSECOND"):
        Sliding(-1)
