"""Queries are split over topologies by what they share, with bounds and pins, and stay where they run."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimizer.planner.topology_assignment import assign

NAMES = st.sampled_from("abcdefgh")
STREAMS = st.frozensets(st.sampled_from("RSTUVW"), min_size=1, max_size=3)
QUERIES = st.dictionaries(NAMES, STREAMS, max_size=8)
PLACES = st.dictionaries(NAMES, st.sampled_from(("main", "main-2", "flights")), max_size=4)


def streams(text: str) -> dict[str, frozenset[str]]:
    """`a:RS b:T`: the queries a over R and S and b over T."""
    return {part.split(":")[0]: frozenset(part.split(":")[1]) for part in text.split()}


@pytest.mark.parametrize(
    ("queries", "running", "limit", "expected"),
    [
        # c connects a and b, which alone have nothing in common.
        ("a:RS b:TU c:ST", {}, 9, {"a": "main", "b": "main", "c": "main"}),
        ("a:RS b:TU", {}, 9, {"a": "main", "b": "main-2"}),
        # Two running topologies that a new query connects stay two; it goes where more is shared.
        ("a:RS b:TU c:STU", {"a": "x", "b": "y"}, 9, {"a": "x", "b": "y", "c": "y"}),
        ("a:RS b:TU c:ST", {"a": "x", "b": "y"}, 9, {"a": "x", "b": "y", "c": "x"}),
        # A component that is too large is cut between its tightly connected parts.
        ("a:RST b:RST c:TU d:UVW", {}, 3, {"a": "main", "b": "main", "c": "main", "d": "main-2"}),
        # A full topology takes nothing more, also if more than the limit run there already.
        ("a:R b:R c:R", {"a": "x", "b": "x"}, 1, {"a": "x", "b": "x", "c": "main"}),
        # A name in use by others is not taken.
        ("a:R b:S", {"a": "main"}, 9, {"a": "main", "b": "main-2"}),
    ],
)  # fmt: skip
def test_examples(queries: str, running: dict[str, str], limit: int, expected: dict[str, str]) -> None:
    assert assign(streams(queries), running, {}, limit) == expected


def test_a_pin_wins_over_what_runs_and_over_the_limit() -> None:
    queries = streams("a:R b:R c:R")
    assert assign(queries, {"a": "x", "b": "x"}, {"b": "y", "c": "x"}, 1) == {"a": "x", "b": "y", "c": "x"}


def test_a_limit_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="limit 0"):
        assign({}, {}, {}, 0)


@given(QUERIES, PLACES, PLACES, st.integers(1, 4))
def test_every_assignment(
    queries: dict[str, frozenset[str]], running: dict[str, str], pins: dict[str, str], limit: int
) -> None:
    found = assign(queries, running, pins, limit)
    assert list(found) == sorted(queries)
    backwards = dict(reversed(list(queries.items())))
    assert assign(backwards, running, pins, limit) == found
    for name in queries:
        if name in pins:
            assert found[name] == pins[name]
        elif name in running:
            assert found[name] == running[name]
    # Nothing moves when the answer becomes what runs.
    assert assign(queries, found, pins, limit) == found
    given_places = {name for name in queries if name in pins or name in running}
    for topology in set(found.values()):
        members = {name for name in found if found[name] == topology}
        assert len(members) <= max(limit, len(members & given_places))


@given(QUERIES)
def test_without_bounds_topologies_are_the_connected_components(queries: dict[str, frozenset[str]]) -> None:
    found = assign(queries, {}, {}, 99)
    for one, its in queries.items():
        for other, theirs in queries.items():
            if its & theirs:
                assert found[one] == found[other]
    for topology in set(found.values()):
        members = {name for name in found if found[name] == topology}
        for part in range(1, 1 << len(members)):
            chosen = {name for i, name in enumerate(sorted(members)) if part >> i & 1}
            rest = members - chosen
            read = frozenset().union(*(queries[n] for n in chosen))
            assert not rest or read & frozenset().union(*(queries[n] for n in rest))
