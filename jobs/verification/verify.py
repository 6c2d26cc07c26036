"""Answer every case of a directory in every way, and say the first difference."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

from jobs.verification.comparison import as_json, differs, differs_from_file, reference
from jobs.verification.execution import Execution, tables_of
from jobs.verification.setups import PlanChoice, Setup, setups
from optimizer.algebra.errors import Infeasible, InputError, Place
from optimizer.algebra.identifiers import nearest
from optimizer.logical.query import Query
from optimizer.partitioning.slicing import slice_all
from optimizer.physical.graph import PhysicalGraph, Slices
from optimizer.planner.plan import plan
from optimizer.search.problem import Options
from optimizer.workload import Workload, read_text
from optimizer.workload.fixtures import Case, ExpectedLetter, FixturesDocument

_FAST = Path("/dev/shm")
_MOST_TOGETHER = 8
"""Queries of one plan: a test is about one of them."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What came of one case."""

    query: str
    case: str
    file: str
    line: int
    ways: int
    """In which it was answered, DuckDB's one of them."""
    seconds: float
    way: str | None = None
    """The first in which it differs; None if none does."""
    difference: str | None = None

    @property
    def passed(self) -> bool:
        return self.difference is None


@dataclass(slots=True)
class Verification:
    """The cases of a directory.

    Arguments: the directory; what it says; the queries to look at, or all; a seed of the arrival orders.
    """

    directory: Path
    workload: Workload
    only: Sequence[str] = ()
    seed: int = 1
    _graphs: dict[tuple[str, PlanChoice], PhysicalGraph | None] = field(default_factory=dict)

    def cases(self) -> list[tuple[Query, str, Case]]:
        """Every case with its query and the name of its file.

        Raises `InputError` for a fixture that cannot be read, is of no query, or if there is none.
        """
        queries = {query.name: query for query in self.workload.queries}
        for name in self.only:
            if name not in queries:
                place = Place("command line", path="--query")
                hint = nearest(name, list(queries))
                raise InputError("bad-option", place, name, f"one of {', '.join(queries)}", hint)
        found = []
        for file in sorted((self.directory / "queries").glob("*.test.yaml")):
            name = file.name.removesuffix(".test.yaml")
            if name not in queries:
                expected = f"{name}.sql beside it"
                raise InputError("missing-file", Place(str(file)), "a test of no query", expected)
            if self.only and name not in self.only:
                continue
            document = FixturesDocument(str(file), queries[name], self.workload.catalog)
            found += [(queries[name], str(file), case) for case in document.read(read_text(file))]
        if not found:
            expected = "at least one file queries/NAME.test.yaml"
            raise InputError("missing-file", Place(str(self.directory / "queries")), "no test", expected)
        return found

    def verdicts(self) -> Iterator[Verdict]:
        """Answer one case after the other. Raises as `cases`, before the first."""
        for query, file, case in self.cases():
            began = time.perf_counter()
            ways, way, difference = self._judge(query, case)
            took = time.perf_counter() - began
            yield Verdict(query.name, case.name, file, case.place.line or 1, ways, took, way, difference)

    def _judge(self, query: Query, case: Case) -> tuple[int, str | None, str | None]:
        catalog = self.workload.catalog
        timed = [one for one in case.given if _has_time(one.row, catalog[one.stream].event_time)]
        tables = tables_of(timed, catalog)
        answer = reference(query, catalog, tables)
        types = {output.name: output.expression.type for output in query.outputs}
        wrong = differs_from_file(case.expect, answer, types)
        if wrong is not None:
            return 1, "DuckDB", wrong
        ways = 1
        for setup in setups(case, catalog, self.seed):
            graph = self._graph(query, setup.plan)
            if graph is None:
                continue
            ways += 1
            wrong = self._differs(query, case, setup, graph, answer)
            if wrong is not None:
                return ways, setup.name, wrong
        return ways, None, None

    def _differs(
        self, query: Query, case: Case, setup: Setup, graph: PhysicalGraph, answer: pl.DataFrame
    ) -> str | None:
        with TemporaryDirectory(dir=_FAST if _FAST.is_dir() else None) as folder:
            execution = Execution(graph, self.workload.catalog, Path(folder))
            execution.run(setup, case.late)
            found = execution.results(query.name)
            wrong = differs(answer, found)
            return wrong if wrong is not None else self._wrong_letters(query, case, execution.letters())

    def _wrong_letters(self, query: Query, case: Case, letters: Sequence[Mapping[str, object]]) -> str | None:
        """How the dead letters differ from what the case says, or lateness means."""
        kept = [one for one in letters if one["query"] in (None, query.name)]
        if case.dead_letters is not None:
            return _unmatched(case.dead_letters, kept)
        catalog = self.workload.catalog
        wanted = [ExpectedLetter(one.stream, "late", one.row) for one in case.late]
        for one in case.given:
            if not _has_time(one.row, catalog[one.stream].event_time):
                wanted.append(ExpectedLetter(one.stream, "null event time", one.row))
        return _unmatched(wanted, [one for one in kept if one["expression"] is None])

    def _graph(self, query: Query, choice: PlanChoice) -> PhysicalGraph | None:
        """A plan of the query; None if there is none of this kind."""
        key = (query.name, choice)
        if key not in self._graphs:
            queries = [query]
            if choice.together:
                read = {one.stream for one in query.inputs}
                others = [
                    other
                    for other in self.workload.queries
                    if other.name != query.name and {one.stream for one in other.inputs} <= read
                ]
                queries = sorted([query, *others[: _MOST_TOGETHER - 1]], key=lambda one: one.name)
            options = Options(grids="always" if choice.matrices else "cost", time_limit_s=5.0)
            try:
                made = plan(
                    queries,
                    self.workload.catalog,
                    method=choice.method,
                    options=options,
                    # As topologies plan: stores keep every column.
                    retain="everything",
                    tasks=choice.tasks,
                )
                graph = slice_all(made.graph, Slices(choice.slices)) if choice.slices else made.graph
                self._graphs[key] = graph
            except Infeasible:
                self._graphs[key] = None
        return self._graphs[key]


def _has_time(row: Mapping[str, object], event_time: str) -> bool:
    return isinstance(row[event_time], datetime)


def _unmatched(wanted: Sequence[ExpectedLetter], letters: Sequence[Mapping[str, object]]) -> str | None:
    """The first difference of dead letters; None if each has its like."""
    left = list(letters)
    for one in wanted:
        fitting = next((letter for letter in left if _fits(one, letter)), None)
        if fitting is None:
            told = as_json(
                ("stream", "reason", *one.row), (one.stream, one.reason or "any", *one.row.values())
            )
            there = "; ".join(_shown(letter) for letter in left[:3]) or "no other"
            return f"missing dead letter: {told}; there is {there}"
        left.remove(fitting)
    return f"dead letter too many: {_shown(left[0])}" if left else None


def _fits(one: ExpectedLetter, letter: Mapping[str, object]) -> bool:
    if one.stream != letter["stream"] or not str(letter["reason"]).startswith(one.reason or ""):
        return False
    text = str(letter["tuple"])
    return all(_reads(text, name, value) for name, value in one.row.items())


def _reads(text: str, name: str, value: object) -> bool:
    """Whether a letter's tuple has the value in the column."""
    try:
        found = json.loads(text).get(name)
    except (ValueError, AttributeError):
        return False
    if isinstance(value, datetime):
        try:
            told = datetime.fromisoformat(str(found))
        except ValueError:
            return False
        return told.replace(tzinfo=None) == value.replace(tzinfo=None)
    if isinstance(value, bytes):
        return bool(found == value.hex())
    return str(found) == str(value) if isinstance(value, date) else bool(found == value)


def _shown(letter: Mapping[str, object]) -> str:
    expression = f", expression {letter['expression']}" if letter["expression"] is not None else ""
    return f"{letter['stream']}: {letter['reason']}{expression}: {letter['tuple']}"
