"""The tuples that a batch fails with are found, whatever they are, and nothing else is set aside."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jobs.failures.bisection import MOST_ATTEMPTS, MOST_OF_A_QUERY, Bisected, QueriesFail, bisect
from jobs.failures.task_failure import Failure, TaskFailed, Told, told_by
from jobs.sources.connector import Descriptor
from jobs.sources.files.stream_files import FileRange
from jobs.sources.halves import halves
from jobs.sources.kafka.topic import RecordRange
from jobs.sources.redis import EntryRange, LostEntries

WHOLE = Failure("storing", "ValueError: no")
Parts = tuple[range, ...]


def cut(parts: Sequence[range]) -> tuple[Parts, Parts] | None:
    numbers = [n for part in parts for n in part]
    if len(numbers) < 2:
        return None
    middle = numbers[len(numbers) // 2]
    first = tuple(range(p.start, min(p.stop, middle)) for p in parts if p.start < middle)
    return first, tuple(range(max(p.start, middle), p.stop) for p in parts if p.stop > middle)


def found(
    count: int, bad: set[int], pairs: set[frozenset[int]], failure: Failure
) -> Bisected[range, set[int]]:
    def attempt(parts: Sequence[range]) -> set[int]:
        there = {n for part in parts for n in part}
        if there & bad or any(pair <= there for pair in pairs):
            raise TaskFailed(failure)
        return there

    return bisect((range(count),), attempt, cut, WHOLE)


@given(st.data(), st.integers(1, 400))
def test_exactly_the_tuples_that_fail_are_set_aside(data: st.DataObject, count: int) -> None:
    numbers = st.integers(0, count - 1)
    bad = data.draw(st.sets(numbers, max_size=5))
    pairs = {
        frozenset((a, b)) for a, b in data.draw(st.sets(st.tuples(numbers, numbers), max_size=3)) if a != b
    }
    if not bad and not pairs:
        return
    done = found(count, bad, pairs, WHOLE)
    aside = {n for part, _ in done.aside for n in part}
    assert done.done == set(range(count)) - aside
    assert bad <= aside
    # Of two that only fail together the later one goes, unless one of them is gone anyhow.
    expected = set(bad)
    for number in range(count):
        if any(number == max(pair) and min(pair) not in expected for pair in pairs):
            expected.add(number)
    assert aside == expected
    assert done.attempts <= 2 + 3 * (len(aside) + 1) * (count.bit_length() + 1)
    order = [n for part in done.accepted for n in part]
    assert all(a < b for a, b in pairwise(order))


@given(st.integers(1, 300))
def test_nothing_is_set_aside_for_a_failure_that_is_not_seen_again(count: int) -> None:
    """What failed for another reason, a process that somebody killed, works the next time."""
    done = bisect((range(count),), lambda parts: {n for part in parts for n in part}, cut, WHOLE)
    assert done.aside == ()
    assert done.done == set(range(count))


@given(st.integers(2, 300), st.data())
def test_a_process_that_somebody_ends_while_it_searches_sets_nothing_aside(
    count: int, data: st.DataObject
) -> None:
    """Every attempt at some tuples may be lost once, and works when it is made again."""
    unlucky = data.draw(st.sets(st.integers(0, count), max_size=3))
    lost: set[tuple[range, ...]] = set()
    word = told_by("Python worker exited unexpectedly (crashed)")
    assert word is not None

    def attempt(parts: Sequence[range]) -> set[int]:
        there = {n for part in parts for n in part}
        if max(there, default=-1) in unlucky and tuple(parts) not in lost:
            lost.add(tuple(parts))
            raise TaskFailed(word)
        return there

    done = bisect((range(count),), attempt, cut, word)
    assert done.aside == ()
    assert done.done == set(range(count))


def test_a_flood_of_bad_tuples_ends_after_a_bounded_number_of_attempts() -> None:
    bad = set(range(0, 100_000, 2))
    done = found(100_000, bad, set(), WHOLE)
    assert done.attempts <= MOST_ATTEMPTS + 40
    assert {n for part, _ in done.aside for n in part} >= bad
    assert not done.done & bad


def test_where_a_query_fails_on_any_tuple_it_is_the_query() -> None:
    failure = Failure("probing s", "ValueError: no", ("q",))
    with pytest.raises(QueriesFail) as error:
        found(1000, set(range(1000)), set(), failure)
    assert error.value.failure.queries == ("q",)
    few = set(range(0, 1000, 1000 // (MOST_OF_A_QUERY - 2)))
    assert len(found(1000, few, set(), failure).aside) == len(few)


def test_what_cannot_be_made_ready_is_not_searched() -> None:
    def attempt(parts: Sequence[range]) -> None:
        raise AssertionError

    failure = Failure("probing s", "KeyError: 'f'", ("p", "q"), every_tuple=True)
    with pytest.raises(QueriesFail):
        bisect((range(9),), attempt, cut, failure)


def test_what_fails_without_a_tuple_is_raised() -> None:
    def attempt(parts: Sequence[range]) -> None:
        raise TaskFailed(WHOLE)

    with pytest.raises(TaskFailed):
        bisect((range(9),), attempt, cut, WHOLE)


def test_what_else_is_raised_ends_the_search() -> None:
    """A server that goes away meanwhile makes no tuple bad."""
    asked = []

    def attempt(parts: Sequence[range]) -> None:
        asked.append(parts)
        if len(asked) == 3:
            raise OSError("away")
        if parts:
            raise TaskFailed(WHOLE)

    with pytest.raises(OSError, match="away"):
        bisect((range(9),), attempt, cut, WHOLE)


class Server:
    """A stream of Redis with ids 1-0, 2-0, ...; every entry holds ten tuples."""

    def last_of(self, entries: EntryRange, rows: int) -> str | None:
        first, last = (int(name.split("-")[0]) for name in (entries.after, entries.last))
        return f"{first + rows}-0" if first + rows <= last else None

    def tuples_of(self, entry: EntryRange) -> int:
        return 10


def places(one: Descriptor) -> list[tuple[str, int]]:
    match one:
        case EntryRange():
            first, last = (int(name.split("-")[0]) for name in (one.after, one.last))
            low, high = one.tuples or (0, 10)
            return [(one.stream, 10 * n + k) for n in range(first, last) for k in range(low, high)]
        case FileRange() | RecordRange():
            return [(one.stream, n) for n in range(one.first, one.first + one.rows)]
        case _:
            return [(one.stream, -1)]


descriptors = st.lists(
    st.one_of(
        st.builds(FileRange, st.just("f"), st.just("f.parquet"), st.integers(0, 50), st.integers(1, 50)),
        st.builds(
            RecordRange, st.just("k"), st.just("t"), st.just(0), st.integers(0, 50), st.integers(1, 50)
        ),
        st.builds(
            lambda first, rows: EntryRange("e", "key", f"{first}-0", f"{first + rows}-0", rows),
            st.integers(0, 50),
            st.integers(1, 50),
        ),
        st.just(LostEntries("e", "key", "1-0")),
    ),
    min_size=1,
    max_size=5,
)


@given(descriptors, st.data())
def test_descriptors_are_cut_down_to_single_tuples(parts: list[Descriptor], data: st.DataObject) -> None:
    rest: Sequence[Descriptor] = parts
    while (halved := halves(rest, Server())) is not None:
        first, second = halved
        assert first
        assert second
        assert [p for one in (*first, *second) for p in places(one)] == [
            p for one in rest for p in places(one)
        ]
        rest = data.draw(st.sampled_from([first, second]))
    assert len([p for one in rest for p in places(one)]) == 1


def test_a_task_s_word_is_found_in_what_spark_says() -> None:
    failure = Failure(
        "probing s[a]", 'ValueError: "x" {y} is\tno key', ("a, b", "c"), every_tuple=True, away=True
    )
    said = f"""Job aborted due to stage failure: Task 0 in stage 1.0 failed 4 times, most recent failure:
org.apache.spark.api.python.PythonException: Traceback (most recent call last):
ValueError: x
jobs.failures.task_failure.Told: {Told(failure)}

	at org.apache.spark.api.python.BasePythonRunner (PythonRunner.scala:1)
"""
    assert told_by(said) == failure
    assert told_by("java.io.IOException: No space left on device") is None
