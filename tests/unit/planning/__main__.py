"""`python -m tests.unit.planning`: random workloads, planned by every method, interpreted, against DuckDB.

    python -m tests.unit.planning --seed 1 --count 500
    python -m tests.unit.planning --seed 123 --count 1 --method ilp --verbose

One seed is one workload: one to six queries over up to four streams, statistics and options, planned
by each method, the last query planned again on top of the plan that runs without it. Prints every
fault with its seed, and ends with 1 if there was one.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from optimizer.algebra.errors import Infeasible
from optimizer.logical.query import Query
from optimizer.methods import METHODS
from optimizer.planner.plan import Plan, plan
from optimizer.search.problem import Options
from optimizer.sql import parse_query
from optimizer.statistics.fixed import FixedStatistics
from tests.reference.interpret import interpret
from tests.unit.planning.workloads import CATALOG, STREAMS, TIMES, WINDOWS, Case, busiest, table

_JOINS = (
    *("{a}.i = {b}.i", "{a}.i = {b}.i", "{a}.i = {b}.j", "{a}.s = {b}.s", "{a}.x = {b}.j"),
    *("{a}.i + {b}.i = 2", "{a}.i = {b}.i AND {a}.j = {b}.j", "{a}.i = {b}.i OR {a}.j = {b}.j"),
    *("{a}.i < {b}.i", "{a}.i <> {b}.j", "abs({a}.x - {b}.x) < 1", "{a}.s LIKE {b}.s", *TIMES),
)
_N_ARY = ("{a}.i + {b}.i >= {c}.j", "{a}.i + {b}.i = {c}.i", "({a}.i = 1 OR {b}.i = 1 OR {c}.i = 1)")
_FILTERS = (
    *("{a}.i > 1", "{a}.i > 0", "{a}.i = 1", "{a}.i > 1 OR {a}.j = 0", "{a}.s = 'a'", "{a}.x IS NOT NULL"),
    *("{a}.i = {a}.j", "{a}.i < {a}.j", "NOT ({a}.i = 2)", "({a}.i > 1 OR {a}.j = 0) AND {a}.s = 'a'"),
)


@dataclass(frozen=True)
class Workload:
    """What a seed stands for."""

    case: Case
    texts: tuple[str, ...]
    statistics: FixedStatistics
    options: Options
    tasks: int
    whole: bool


def workload(seed: int) -> Workload:
    """The workload of a seed; equal seeds, equal workloads."""
    random = Random(seed)
    streams = STREAMS[: random.randint(1, len(STREAMS))]
    texts = [_text(random, streams) for _ in range(random.randint(1, 3))]
    texts += [_twin(random, random.choice(texts)) for _ in range(random.choice((0, 0, 1, 2, 3)))]
    queries = tuple(parse_query(text, f"q{n}", CATALOG) for n, text in enumerate(texts))
    batches = tuple({name: table(random, 10) for name in STREAMS} for _ in range(2))
    rates = {name: 10 ** random.uniform(-1, 3) for name in streams if random.random() < 0.8}
    options = Options(
        mirs=random.random() < 0.85,
        single_copy=random.random() < 0.3,
        storage_weight=random.choice((0.0, 0.0, 0.001, 0.1, 1.0, 10.0)),
        latency_weight=random.choice((0.0, 0.0, 1.0)),
        storage_budget=random.choice((None, None, None, None, 500.0, 50_000.0)),
        task_capacity=random.choice((None, None, None, None, 100.0, 10_000.0)),
        time_limit_s=2.0,
    )
    whole = random.random() < 0.3
    tasks = random.choice((1, 2, 4))
    return Workload(Case(queries, batches), tuple(texts), FixedStatistics(rates), options, tasks, whole)


def _text(random: Random, streams: Sequence[str]) -> str:
    count = random.choice((1, 2, 2, 3, 3, 3, 4, 4, 5))
    aliases = [f"a{n}" for n in range(count)]
    random.shuffle(aliases)
    star = random.random() < 0.2
    conditions = []
    for n in range(1, count):
        other = aliases[0 if star else random.randrange(n)]
        conditions.append(f"({random.choice(_JOINS).format(a=aliases[n], b=other)})")
    for _ in range(random.choice((0, 0, 1, 2)) if count > 1 else 0):
        a, b = random.sample(aliases, 2)
        conditions.append(f"({random.choice(_JOINS).format(a=a, b=b)})")
    if count > 2 and random.random() < 0.4:
        a, b, c = random.sample(aliases, 3)
        conditions.append(random.choice(_N_ARY).format(a=a, b=b, c=c))
    conditions += [f"({random.choice(_FILTERS).format(a=a)})" for a in aliases if random.random() < 0.35]
    random.shuffle(conditions)
    common = random.choice(WINDOWS)
    windows = [random.choice((common, common, common, *WINDOWS)) for _ in aliases]
    sources = ", ".join(
        f"{random.choice(streams)}{window} AS {alias}" for window, alias in zip(windows, aliases, strict=True)
    )
    outputs = ", ".join(f"{alias}.{random.choice('ijxs')} AS o_{alias}" for alias in aliases)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {outputs}, {aliases[0]}.at AS at FROM {sources}{where}"


def _twin(random: Random, text: str) -> str:
    """The query with other windows or further filters: what AJoin's grouping is for."""
    for _ in range(random.randint(1, 3)):
        if random.random() < 0.5:
            text = text.replace(random.choice(WINDOWS[1:]), random.choice(WINDOWS))
        elif " WHERE " in text:
            text += f" AND ({random.choice(_FILTERS).format(a='a0')})"
    return text


def faults(found: Workload, method: str) -> Iterator[str]:
    """What is wrong with the method's plans of a workload; raises `Infeasible` where it has none."""
    queries = found.case.queries
    yield from _differences(found.case, queries, made := _plan(found, queries, method))
    capacity, budget = found.options.task_capacity, found.options.storage_budget
    if capacity is not None and (load := busiest(made.graph)) > capacity * (1 + 1e-6):
        yield f"a task receives {load:g} tuples per second, {capacity:g} are allowed"
    stored = sum(one.tuples or 0.0 for one in made.graph.estimates)
    if method != "individual" and budget is not None and stored > budget * (1 + 1e-6):
        yield f"{stored:g} tuples are stored, {budget:g} are allowed"
    if found.options.storage_budget is not None or found.options.task_capacity is not None:
        return
    if len(queries) > 1:
        before = _plan(found, queries[:-1], method)
        yield from _differences(found.case, queries, _plan(found, queries, method, running=before))
        yield from _differences(found.case, queries[1:], _plan(found, queries[1:], method, running=made))


def _plan(found: Workload, queries: Sequence[Query], method: str, running: Plan | None = None) -> Plan:
    return plan(
        queries,
        CATALOG,
        found.statistics,
        method,
        found.options,
        "everything" if found.whole else "needed",
        tasks=found.tasks,
        running=None if running is None else running.running,
    )


def _differences(case: Case, queries: Sequence[Query], made: Plan) -> Iterator[str]:
    results = interpret(made.graph, case.batches)
    for query in queries:
        expected = Counter(map(repr, case.expected(query)))
        answered = Counter(map(repr, results[query.name]))
        if answered != expected:
            missing, wrong = sum((expected - answered).values()), sum((answered - expected).values())
            yield f"{query.name}: {missing} results missing, {wrong} wrong"


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.unit.planning")
    parser.add_argument("--seed", type=int, default=0, help="the first one (default: 0)")
    parser.add_argument("--count", type=int, default=100, help="seeds, one after the other (default: 100)")
    parser.add_argument("--method", choices=METHODS, help="one method (default: all)")
    parser.add_argument("--verbose", action="store_true", help="print the queries too")
    given = parser.parse_args()
    planned = infeasible = wrong = 0
    for seed in range(given.seed, given.seed + given.count):
        found = workload(seed)
        if given.verbose:
            sys.stdout.write("".join(f"{text}\n" for text in found.texts) + f"{found.options}\n")
        for method in [given.method] if given.method else METHODS:
            planned += 1
            try:
                problems = list(faults(found, method))
            except Infeasible as refusal:
                infeasible += 1
                if given.verbose:
                    sys.stdout.write(f"{method}: {refusal}\n")
                continue
            except Exception as failure:
                # A fuzzer reports every kind of failure and goes on to the next workload.
                problems = [f"{type(failure).__name__}: {failure}"]
            for problem in problems:
                wrong += 1
                sys.stdout.write(f"seed {seed}, {method}: {problem}\n")
                sys.stdout.flush()
    sys.stdout.write(f"{planned} workloads planned, {infeasible} infeasible, {wrong} faults\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
