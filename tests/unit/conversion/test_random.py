"""Random queries of nested joins: the converted plan answers like DuckDB. Broken texts are only refused."""

from __future__ import annotations

import random
from collections import Counter
from functools import cache

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from optimizer.algebra.errors import InputError
from optimizer.conversion import Conversion, continuous, convert, draw, to_lines, window_of
from optimizer.conversion.binary.rendering import query_sql
from tests.unit.conversion.execution import execute, interpreted
from tests.unit.conversion.tables import CATALOG, NAMES, tables
from tests.unit.conversion.test_answers import CASES, answered

DATA = tables()
COLUMNS = ("k", "v", "x")


class NestedQueries:
    """Draws queries: joins of every kind, in every nesting, with subqueries that project and select."""

    def __init__(self, seed: int) -> None:
        self._chance = random.Random(seed)
        self._made = 0

    def query(self) -> str:
        text, aliases = self._relation(3)
        outputs = ", ".join(f"{self._column(aliases)} AS o{number}" for number in range(2))
        where = " AND ".join(self._condition(aliases) for _ in range(self._chance.randrange(3)))
        if self._chance.random() < 0.3:
            stream = self._chance.choice(NAMES)
            inner = f"SELECT 1 FROM {stream} AS z WHERE z.k = {self._column(aliases)}"
            where += f"{' AND ' if where else ''}{self._chance.choice(['', 'NOT '])}EXISTS ({inner})"
        return f"SELECT {outputs} FROM {text}{f' WHERE {where}' if where else ''}"

    def _relation(self, depth: int) -> tuple[str, list[str]]:
        shape = self._chance.random()
        if depth == 0 or shape < 0.1:
            alias = self._alias()
            return f"{self._chance.choice(NAMES)} AS {alias}", [alias]
        if shape < 0.35:
            return self._subquery(depth)
        left, lefts = self._relation(depth - 1)
        right, rights = self._relation(depth - 1 if self._chance.random() < 0.4 else 0)
        kind = self._chance.choices(["JOIN", "LEFT JOIN", "FULL JOIN", "SEMI JOIN"], [10, 2, 1, 1])[0]
        on = f"{self._column(lefts)} = {self._column(rights)}"
        if self._chance.random() < 0.3 and kind != "FULL JOIN":
            on += f" AND {self._condition([*lefts, *rights])}"
        right = f"({right})" if " JOIN " in right else right
        return f"{left} {kind} {right} ON {on}", lefts if kind == "SEMI JOIN" else [*lefts, *rights]

    def _subquery(self, depth: int) -> tuple[str, list[str]]:
        text, aliases = self._relation(depth - 1)
        alias = self._alias()
        added = self._chance.choice(["", " + 1", " * 2"])
        outputs = ", ".join(
            f"CAST({self._column(aliases)}{added if name == 'v' else ''} AS {kind}) AS {name}"
            for name, kind in (("k", "INTEGER"), ("v", "BIGINT"), ("x", "DOUBLE"))
        )
        where = f" WHERE {self._condition(aliases)}" if self._chance.random() < 0.5 else ""
        return f"(SELECT {outputs} FROM {text}{where}) AS {alias}", [alias]

    def _condition(self, aliases: list[str]) -> str:
        left, right = self._column(aliases), self._column(aliases)
        return self._chance.choice(
            [f"{left} <= {right} + 1", f"{left} > 1", f"{left} IS NOT NULL", f"({left} = 2 OR {right} < 3)"]
        )

    def _column(self, aliases: list[str]) -> str:
        return f"{self._chance.choice(aliases)}.{self._chance.choice(COLUMNS)}"

    def _alias(self) -> str:
        self._made += 1
        return f"t{self._made}"


@cache
def _converted(seed: int) -> tuple[str, Conversion]:
    text = NestedQueries(seed).query()
    return text, convert(text, CATALOG)


@pytest.mark.parametrize("seed", range(40))
def test_a_random_query_answers_the_same_after_conversion(seed: int) -> None:
    text, made = _converted(seed)
    answers = execute(made, CATALOG, DATA, interpreted("flat"))
    expected = answered(text)

    for join in answers.joins:
        assert join.found == join.expected, made.joins
    assert answered(query_sql(made.before)) == expected, query_sql(made.before)
    assert Counter(answers.whole) == expected, "\n".join([text, *to_lines(draw(made.after)), made.rest])


def test_random_queries_have_groups() -> None:
    """Otherwise the test above compares DuckDB with itself."""
    sizes = [len(joined.join.inputs) for seed in range(40) for joined in _converted(seed)[1].joins]

    assert len(sizes) >= 20
    assert max(sizes) >= 4


@settings(max_examples=100)
@given(st.sampled_from(sorted(CASES)), st.data())
def test_a_broken_text_is_refused_and_nothing_else_happens(case: str, data: st.DataObject) -> None:
    words = CASES[case][0].split(" ")
    position = data.draw(st.integers(0, len(words) - 1))
    other = data.draw(
        st.sampled_from([*words, "", "(", ")", "SELECT", "FROM", "JOIN", "NULL", "'", "é", "[", ";"])
    )
    text = " ".join([*words[:position], other, *words[position + 1 :]])
    assert _refused_at(text) in (None, "query")


def _refused_at(text: str) -> str | None:
    """The source that a refusal names; None for a text that has a meaning. Any other exception is a fault."""
    try:
        convert(text, CATALOG)
        continuous(text, CATALOG, window_of("1 HOUR"))
    except InputError as error:
        return error.place.source
    return None
