"""Smaller cases that fail in the same way."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

from optimizer.algebra.errors import InputError
from tests.oracle.small.case import Case, Failure, judge, usable
from tests.oracle.small.grammar import Term
from tests.oracle.small.workload import SmallQuery, SmallWorkload


def shrink(case: Case, failure: Failure, seconds: float) -> tuple[Case, Failure]:
    """Leave out and simplify for as long as the failure stays of its kind and time allows."""
    until = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for step in (_setups, _queries, _rows, _conditions, _terms, _values):
            position = 0
            while time.monotonic() < until:
                candidates = list(step(case))
                if position >= len(candidates):
                    break
                found = _fails(candidates[position], failure.kind)
                if found is None:
                    position += 1
                else:
                    case, failure, smaller = candidates[position], found, True
    return case, failure


def _fails(case: Case, kind: str) -> Failure | None:
    try:
        if not usable(case):
            return None
    except (InputError, ValueError):
        return None
    found = judge(case)
    return found if isinstance(found, Failure) and found.kind == kind else None


def _setups(case: Case) -> Iterator[Case]:
    if len(case.setups) > 1:
        for setup in case.setups:
            yield replace(case, setups=(setup,))
    whole = (len(case.workload.arrivals),)
    for n, setup in enumerate(case.setups):
        simpler = [
            replace(setup, tasks=1),
            replace(setup, batches=whole, uncommitted=None),
            replace(setup, share_bytes=None),
            replace(setup, grids="cost"),
            replace(setup, slices=0),
            replace(setup, few=False),
            replace(setup, uncommitted=None),
            replace(setup, files=None),
            replace(setup, method="flat"),
        ]
        for one in simpler:
            if one != setup:
                yield replace(case, setups=(*case.setups[:n], one, *case.setups[n + 1 :]))


def _queries(case: Case) -> Iterator[Case]:
    for n in range(len(case.workload.queries)):
        queries = (*case.workload.queries[:n], *case.workload.queries[n + 1 :])
        if queries:
            yield _with(case, replace(case.workload, queries=queries))


def _rows(case: Case) -> Iterator[Case]:
    arrivals = case.workload.arrivals
    size = len(arrivals)
    while size > 0:
        for begin in range(0, len(arrivals), size):
            kept = (*arrivals[:begin], *arrivals[begin + size :])
            if kept:
                yield _without(case, begin, min(len(arrivals), begin + size))
        size //= 2


def _without(case: Case, begin: int, end: int) -> Case:
    arrivals = (*case.workload.arrivals[:begin], *case.workload.arrivals[end:])

    def moved(bound: int) -> int:
        return bound - max(0, min(bound, end) - begin)

    setups = tuple(
        replace(s, batches=tuple(sorted({moved(b) for b in s.batches} - {0}) or (0,))) for s in case.setups
    )
    return replace(case, workload=replace(case.workload, arrivals=arrivals), setups=setups)


def _conditions(case: Case) -> Iterator[Case]:
    def changed(query: SmallQuery) -> Iterator[SmallQuery]:
        for n in range(len(query.predicates)):
            yield replace(query, predicates=(*query.predicates[:n], *query.predicates[n + 1 :]))
        if query.also is not None:
            yield replace(query, also=None)
        if query.reading is not None:
            yield replace(query, reading=None)
        for simpler in () if query.grouped is None or query.reading is not None else query.grouped.simpler():
            yield replace(query, grouped=simpler)
        for n in range(len(query.outputs)):
            if len(query.outputs) > 1:
                yield replace(query, outputs=(*query.outputs[:n], *query.outputs[n + 1 :]))
        for n, source in enumerate(query.inputs):
            if source.window_us is not None:
                wider = replace(source, window_us=None)
                yield replace(query, inputs=(*query.inputs[:n], wider, *query.inputs[n + 1 :]))
            used = [t for t in (*query.predicates, *query.outputs) if source.alias in t.aliases()]
            kept = tuple(i for i in query.inputs if i is not source)
            if kept:
                yield replace(
                    query,
                    inputs=kept,
                    predicates=tuple(p for p in query.predicates if p not in used),
                    outputs=tuple(o for o in query.outputs if o not in used),
                )

    yield from _each_query(case, changed)


def _terms(case: Case) -> Iterator[Case]:
    def changed(query: SmallQuery) -> Iterator[SmallQuery]:
        for n, predicate in enumerate(query.predicates):
            for simpler in _simpler(predicate):
                yield replace(query, predicates=(*query.predicates[:n], simpler, *query.predicates[n + 1 :]))
        for n, output in enumerate(query.outputs):
            for simpler in _simpler(output):
                yield replace(query, outputs=(*query.outputs[:n], simpler, *query.outputs[n + 1 :]))

    yield from _each_query(case, changed)


def _simpler(term: Term) -> Iterator[Term]:
    for part in term.parts:
        if part.kind is term.kind:
            yield part
    for n, part in enumerate(term.parts):
        for simpler in _simpler(part):
            yield replace(term, parts=(*term.parts[:n], simpler, *term.parts[n + 1 :]))


def _values(case: Case) -> Iterator[Case]:
    for n, arrival in enumerate(case.workload.arrivals):
        for name, value in arrival.row:
            if value is not None and name != "ts":
                row = tuple((c, None if c == name else v) for c, v in arrival.row)
                arrivals = list(case.workload.arrivals)
                arrivals[n] = replace(arrival, row=row)
                yield _with(case, replace(case.workload, arrivals=tuple(arrivals)))


def _each_query(case: Case, changed: Callable[[SmallQuery], Iterator[SmallQuery]]) -> Iterator[Case]:
    for n, query in enumerate(case.workload.queries):
        for simpler in changed(query):
            queries = (*case.workload.queries[:n], simpler, *case.workload.queries[n + 1 :])
            # Groups and UNION ALL go by the positions of outputs.
            alone = simpler.grouped is None and simpler.also is None
            if simpler.outputs and (alone or len(simpler.outputs) == len(query.outputs)):
                yield _with(case, replace(case.workload, queries=queries))


def _with(case: Case, workload: SmallWorkload) -> Case:
    return replace(case, workload=workload)
