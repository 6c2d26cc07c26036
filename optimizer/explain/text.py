"""An explanation for a terminal: costs, stores and drawn probe trees."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from optimizer.explain.document import CostByKind, CostInCores, ExplainedStep, ExplainedStore, Explanation


def to_text(explanation: Explanation, *, timings: bool = True) -> str:
    """The plan as readable text, the same bytes for the same plan.

    >>> from optimizer.algebra.types import ColumnType
    >>> from optimizer.explain import explain
    >>> from optimizer.logical.catalog import Catalog
    >>> from optimizer.logical.stream import Stream
    >>> from optimizer.planner.plan import plan
    >>> from optimizer.sql import parse_query
    >>> columns = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))
    >>> catalog = Catalog.of(Stream(name, columns, "at", tuples_per_second=10.0) for name in ("r", "s"))
    >>> text = "SELECT r.a FROM r [RANGE 1 SECOND], s [RANGE 1 SECOND] WHERE r.a = s.a"
    >>> query = parse_query(text, "q", catalog)
    >>> for line in to_text(explain(plan([query], catalog)), timings=False).splitlines()[-5:]:
    ...     print(line)
    r: 10/s
    └─ s[a] by r.a on r.a = s.a: 10/s to 1/s, cost 10, level 1 => q
    <BLANKLINE>
    s: 10/s
    └─ r[a] by s.a on r.a = s.a: 10/s to 1/s, cost 10, level 1 => q

    Args:
        timings: False leaves out the seconds, which differ from run to run.
    """
    return "\n".join(_lines(explanation, timings)) + "\n"


def _lines(explanation: Explanation, timings: bool) -> Iterator[str]:
    cost = explanation.cost
    yield f"{explanation.method}: {explanation.status}, cost {_number(cost.total)} {_parts(cost)}"
    if explanation.bound is not None and explanation.gap is not None:
        yield f"bound {_number(explanation.bound)}, gap {100 * explanation.gap:.2f} %"
    else:
        yield "bound unknown: this method proves nothing"
    if explanation.memory is not None:
        yield str(explanation.memory)
    state = explanation.state
    if state.low < state.high:
        yield f"state {_number(state.expected)} tuples, {_number(state.low)} to {_number(state.high)}"
    if explanation.robustness is not None:
        yield str(explanation.robustness)
    alone = explanation.individual_cost
    share = 100 * (alone - cost.total) / alone if alone else 0.0
    compared = f"saves {share:.1f} %" if share >= 0 else f"costs {-share:.1f} % more"
    yield f"each query alone {_number(alone)}; together {compared}"
    if timings:
        seconds = explanation.seconds
        yield f"built in {seconds.build:.3f} s, solved in {seconds.solve:.3f} s, all in {seconds.total:.3f} s"
    yield ""
    yield "queries"
    for query in explanation.queries:
        inputs = ", ".join(a if a == i else f"{a} = {i}" for a, i in query.inputs)
        proven = "" if query.alone_proven else " or less"
        yield (
            f"  {query.name}: {inputs}; alone {_number(query.alone_cost)}{proven}; "
            f"shares {query.shares_steps} of {query.steps} steps"
        )
        for one in query.kept:
            yield f"    {one.alias} is kept {one.window.text}: {' and '.join(one.because)}"
    if explanation.functions:
        yield ""
        yield "functions"
    for function in explanation.functions:
        types = ", ".join(function.arguments)
        yield f"  {function.name}({types}) -> {function.returns}: {_number(function.cost_us)} µs per pair"
    yield ""
    yield "stores"
    for store in explanation.stores:
        yield f"  {_store(store)}"
    labels = {store.id: store.label for store in explanation.stores}
    for tree in explanation.trees:
        if not tree.steps and not tree.emits:
            continue
        yield ""
        passing = f" where {tree.filter}" if tree.filter else ""
        answers = f" => {', '.join(tree.emits)}" if tree.emits else ""
        yield f"{tree.start}{passing}: {_number(tree.tuples_per_second)}/s{answers}"
        yield from _steps(tree.steps, "", labels)
    yield from _decisions(explanation)


def _decisions(explanation: Explanation) -> Iterator[str]:
    """What else could have been chosen, what limits cost, what is kept apart."""
    if explanation.alternatives:
        yield ""
        yield "second-best orders"
    for other in explanation.alternatives:
        yield (
            f"  {other.query} from {other.start}: {', '.join(other.chosen)}; "
            f"instead {', '.join(other.instead)} for {_signed(other.extra_cost)}"
        )
    if explanation.without_results:
        yield ""
        yield "without a materialized result"
    for result in explanation.without_results:
        yield f"  {'*'.join(result.relation)}: {_signed(result.extra_cost)}"
    if explanation.other_partitionings:
        yield ""
        yield "second-best partitionings"
    for other_way in explanation.other_partitionings:
        yield (
            f"  {'*'.join(other_way.relation)} by {_columns(other_way.chosen)}; "
            f"by {_columns(other_way.instead)} for {_signed(other_way.extra_cost)}"
        )
    if explanation.limits:
        yield ""
        yield "limits"
    for limit in explanation.limits:
        yield f"  without {limit.option} at least {_number(limit.saving)} cheaper"
    if explanation.narrowed:
        yield ""
        yield "not searched whole"
    for name in explanation.narrowed:
        yield f"  {name} has too many sub-joins; those that keep partial results small were looked at"
    if explanation.apart:
        yield ""
        yield "kept apart"
    for pair in explanation.apart:
        yield f"  {' and '.join(pair.queries)} on {pair.join}: {pair.reason}"


def _columns(columns: Sequence[str]) -> str:
    return " and ".join(columns) or "nothing"


def _signed(value: float) -> str:
    # Sums in another order differ in their last bits.
    return "the same cost" if abs(value) < 1e-9 else f"{'+' if value > 0 else ''}{_number(value)}"


def _store(store: ExplainedStore) -> str:
    kept = ", ".join(sorted({w.text if w.is_bounded else "for ever" for w in store.retention}))
    tasks = "1 task" if store.tasks == 1 else f"{store.tasks} tasks"
    place = "at random" if store.partitioning is None else f"by {store.partitioning}"
    users = ", ".join(store.queries) or "no query"
    return (
        f"{store.label}: {tasks} {place}, kept {kept}, {_number(store.tuples)} tuples, "
        f"storage {_number(store.storage_cost)}, probes {_number(store.probe_cost)}, for {users} ({store.id})"
    )


def _steps(steps: Sequence[ExplainedStep], indent: str, labels: dict[str, str]) -> Iterator[str]:
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        conditions = " and ".join(step.conditions) or "no condition"
        shared = f", shared by {', '.join(step.queries)}" if len(step.queries) > 1 else ""
        feeds = "".join(f" -> {labels[store]}" for store in step.feeds)
        answers = f" => {', '.join(step.emits)}" if step.emits else ""
        yield (
            f"{indent}{'└─' if last else '├─'} {step.label} {step.routing} on {conditions}: "
            f"{_number(step.arriving_tuples_per_second)}/s to {_number(step.leaving_tuples_per_second)}/s, "
            f"cost {_number(step.probe_cost)}, level {step.level}{shared}{feeds}{answers}"
        )
        yield from _steps(step.steps, indent + ("   " if last else "│  "), labels)


def _parts(cost: CostByKind | CostInCores) -> str:
    if isinstance(cost, CostInCores):
        return (
            f"cores: {_number(cost.cores)} of work and {_number(cost.gb)} GB of state; "
            f"results after some {cost.latency_ms:.0f} ms"
        )
    return (
        f"= probe {_number(cost.probe)} + storage {_number(cost.storage)} + latency {_number(cost.latency)}"
    )


def _number(value: float) -> str:
    """Four significant digits at least, thousands grouped: 0.01235, 12.5, 1,234,567."""
    if value == 0:
        return "0"
    if abs(value) >= 1000:
        return f"{value:,.0f}"
    return f"{value:.4g}"
