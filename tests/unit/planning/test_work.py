"""Planning is bounded by work: what has too many sub-joins gets a plan of those that matter, and says so."""

from __future__ import annotations

import re
import resource
from dataclasses import replace
from itertools import combinations, permutations
from random import Random

import pytest

from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.explain import explain, to_text
from optimizer.logical.canonical_inputs import _twins_in_order
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.logical.stream import Stream
from optimizer.logical.window import Sliding
from optimizer.planner.plan import plan
from optimizer.search.join_graph import FEW_RELATIONS, is_searched_whole, shape_of
from optimizer.search.problem import Options
from optimizer.sql import check, parse_query
from optimizer.sql.binding.queries import MOST_INPUTS
from tests.reference.solution_faults import faults

COLUMNS = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
CATALOG = Catalog((Stream("r", COLUMNS, "at"), Stream("s", COLUMNS, "at")))
PROCESSOR_S = 20.0
"""Several times what the slowest of these takes on a quiet machine; before there was a bound, minutes."""


def joined(inputs: int, condition: str) -> Query:
    sources = ", ".join(f"r [RANGE 1 SECOND] AS t{n}" for n in range(inputs))
    return parse_query(f"SELECT t0.a FROM {sources} WHERE {condition}", "q", CATALOG)


def alike(inputs: int) -> Query:
    """Everybody with everybody, so that nothing distinguishes the inputs."""
    return joined(inputs, " AND ".join(f"t{i}.a = t{j}.a" for i, j in combinations(range(inputs), 2)))


def unlike(inputs: int) -> Query:
    pairs = combinations(range(inputs), 2)
    return joined(inputs, " AND ".join(f"t{i}.a < t{j}.a + {n}" for n, (i, j) in enumerate(pairs)))


def chain(inputs: int) -> Query:
    return joined(inputs, " AND ".join(f"t{i}.a = t{i + 1}.a" for i in range(inputs - 1)))


def star(inputs: int) -> Query:
    return joined(inputs, " AND ".join(f"t0.a = t{i}.a" for i in range(1, inputs)))


def rays(inputs: int) -> Query:
    """A star whose ends are not equal to each other."""
    return joined(inputs, " AND ".join(f"t0.a < t{i}.a + {i}" for i in range(1, inputs)))


def cycle(inputs: int) -> Query:
    return joined(inputs, " AND ".join(f"t{i}.a < t{(i + 1) % inputs}.a" for i in range(inputs)))


def crossed(inputs: int) -> Query:
    sources = " CROSS JOIN ".join(f"r [RANGE 1 SECOND] AS t{n}" for n in range(inputs))
    return parse_query(f"SELECT t0.a FROM {sources}", "q", CATALOG)


def together(inputs: int) -> Query:
    return joined(inputs, " + ".join(f"t{n}.a" for n in range(inputs)) + " = 5")


SHAPES = (alike, unlike, chain, star, rays, cycle, crossed, together)


@pytest.mark.parametrize("inputs", [9, 10, 12, 20])
@pytest.mark.parametrize("shape", SHAPES)
def test_every_query_is_planned_within_bounded_work(shape: object, inputs: int) -> None:
    assert callable(shape)
    began = resource.getrusage(resource.RUSAGE_SELF)
    made = plan([shape(inputs)], CATALOG, None, "greedy", Options(time_limit_s=1.0), "everything", tasks=2)
    explained = to_text(explain(made))
    ended = resource.getrusage(resource.RUSAGE_SELF)
    assert ended.ru_utime - began.ru_utime < PROCESSOR_S
    assert not faults(made.translation.problem, Options(), made.components[0].solution)
    assert ("not searched whole" in explained) == bool(explain(made).narrowed)


def test_a_plan_of_some_sub_joins_says_so() -> None:
    for inputs, narrowed in ((5, ()), (FEW_RELATIONS, ()), (9, ("q",)), (12, ("q",))):
        made = plan([unlike(inputs)], CATALOG, None, "flat" if inputs == 5 else "greedy")
        assert explain(made).narrowed == narrowed


def test_what_is_searched_depends_on_work_and_not_on_the_number_of_inputs() -> None:
    def clique(size: int) -> tuple[int, ...]:
        return tuple(sorted((1 << i) | (1 << j) for i, j in combinations(range(size), 2)))

    assert is_searched_whole(FEW_RELATIONS, clique(FEW_RELATIONS), True)
    assert not is_searched_whole(9, clique(9), True)
    assert is_searched_whole(9, clique(9), False)
    assert is_searched_whole(16, tuple((1 << i) | (1 << (i + 1)) for i in range(15)), True)
    assert shape_of(9, clique(9), True) is None


def test_more_inputs_than_are_planned_are_refused_where_they_begin() -> None:
    views = {"v": chain(MOST_INPUTS)}
    many = f"SELECT t0.a FROM {', '.join(f's AS t{n}' for n in range(MOST_INPUTS + 2))}"
    for text, first in (
        (many, f"s AS t{MOST_INPUTS}"),
        ("SELECT x.a FROM v AS x, s AS y, s AS z", "s AS y"),
    ):
        (error,) = check(text, CATALOG, views)
        assert (error.code, error.place.column) == ("too-many-inputs", text.index(first) + 1)
        with pytest.raises(InputError, match=f"at most {MOST_INPUTS}"):
            parse_query(text, "q", CATALOG, views)


def test_orders_of_twins_are_the_permutations_that_keep_theirs() -> None:
    random = Random(7)
    for _ in range(200):
        members = tuple("abcdef"[: random.randint(0, 6)])
        twins: dict[str, str] = {}
        for number, member in enumerate(members):
            twins[member] = random.choice([member, *(twins[other] for other in members[:number])])

        def kept(order: tuple[str, ...], members: tuple[str, ...], twins: dict[str, str]) -> bool:
            groups = [[one for one in order if twins[one] == twin] for twin in set(twins.values())]
            return all(group == [one for one in members if one in group] for group in groups)

        expected = [order for order in permutations(members) if kept(order, members, twins)]
        assert list(_twins_in_order(members, twins)) == expected


@pytest.mark.parametrize("method", ["greedy", "flat"])
@pytest.mark.parametrize("shape", [crossed, alike, rays])
def test_numbers_of_tuples_beyond_any_are_planned_with_too(shape: object, method: str) -> None:
    """What an account may declare, joined with itself, comes to more than doubles hold."""
    assert callable(shape)
    streams = tuple(replace(stream, tuples_per_second=1e12) for stream in CATALOG.streams)
    query = shape(13)
    longest = Sliding(999_999_999 * 86_400_000_000)
    query = replace(query, inputs=tuple(replace(one, window=longest) for one in query.inputs))

    made = plan([query], Catalog(streams), None, method, Options(time_limit_s=1.0), tasks=2)

    explained = to_text(explain(made))
    assert not re.search(r"\b(inf|nan)\b", explained), explained
