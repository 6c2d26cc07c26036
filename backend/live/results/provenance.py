"""A result's path through the probe tree: which tuple came last, and what it met."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from backend.catalog.models import Query
from backend.errors import Conflict
from backend.redis import connection, read_entries
from backend.topologies.models import Plan
from backend.topologies.query_search import deployment_of
from backend.topologies.sight import Sight
from jobs.protocol import ResultTrace, results_key
from optimizer.algebra.expression import Expression, inputs_of, rename_inputs
from optimizer.algebra.render import to_sql
from optimizer.logical.canonical_inputs import stream_of
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import AggregateRule, Emit, ProbeRule, Rule, SettleRule, SourceRule


@dataclass(frozen=True, slots=True)
class Bound:
    """A tuple of the result, under the name that the query gives it."""

    alias: str
    stream: str
    event_time: datetime | None
    """None if the leaf did not need it."""


@dataclass(frozen=True, slots=True)
class Step:
    """A store that was probed."""

    rule: str
    edge: str
    kind: str
    """How the message travelled: shuffle, group_by, all, slices or grid."""
    level: int
    store: str
    label: str
    found: tuple[Bound, ...]
    """The tuples that this store contributed; several if it holds intermediate results."""
    conditions: tuple[str, ...]
    """What was checked here, in the query's aliases."""


@dataclass(frozen=True, slots=True)
class Provenance:
    topology: str
    plan_id: str
    batch: int
    arrival: int
    """The start's arrival number; every other tuple has a smaller one, or is this one again."""
    source: str
    """The rule through which the start entered."""
    start: Bound
    start_filter: str | None
    steps: tuple[Step, ...]
    residuals: tuple[str, ...]
    """What was left to check at the leaf."""


def provenance(query: Query, entry: str, sight: Sight) -> Provenance:
    """How a result in the live tail of a query came about, as far as the plan is seen.

    Raises `Conflict` when the result is no longer in the tail, when it was written by a job that
    did not tell, when its plan is not known here, or when it waited for what is absent.
    """
    deployment = deployment_of(query)
    entries = []
    if deployment is not None:
        key = results_key(deployment.topology.name, query.name)
        entries = read_entries(connection().xrange(key, entry, entry))
    if not entries or deployment is None:
        raise Conflict("no-such-result", f"result {entry} has left the tail of {query.name}")
    fields = entries[0][1]
    if "trace" not in fields:
        raise Conflict("no-trace", "the job that wrote this result did not tell how it came about")
    trace = ResultTrace.model_validate_json(fields["trace"])
    plan = Plan.objects.filter(topology=deployment.topology, plan_id=trace.plan_id).first()
    if plan is None:
        raise Conflict("no-such-plan", f"plan {trace.plan_id} is not known here")
    graph = sight.graph(PhysicalGraph.from_json(plan.graph, f"plan {plan.plan_id}"))
    return _follow(graph, query.name, trace, deployment.topology.name, int(fields["batch"]))


def _follow(graph: PhysicalGraph, name: str, trace: ResultTrace, topology: str, batch: int) -> Provenance:
    """Walk from the leaf back along the edges, then tell it forwards."""
    rules = {rule.id: rule for rule in graph.rules}
    edges = {edge.id: edge for edge in graph.edges}
    stores = {store.id: store for store in graph.stores}
    query = next(one for one in graph.queries if one.name == name)
    aliases = {source.input: source.alias for source in query.inputs}
    steps: list[Step] = []
    rule = rules[trace.rule]
    if isinstance(rule, AggregateRule):
        raise Conflict("grouped", "this result is of a group of tuples: no single one completed it")
    if isinstance(rule, SettleRule):
        raise Conflict("waited", "this result waited until nothing could join it: no tuple completed it")
    leaf = next(emit for emit in _emits(rule) if emit.query == name)
    while isinstance(rule, ProbeRule):
        edge, store = edges[rule.edge], stores[rule.store]
        checked = [
            f"{to_sql(rename_inputs(one.probe, aliases))} = "
            f"{to_sql(rename_inputs(_in_tree(rule, one.stored), aliases))}"
            for one in rule.equalities
        ]
        checked += [to_sql(rename_inputs(one, aliases)) for one in rule.predicates]
        found = tuple(_bound(tree, aliases, trace) for _, tree in rule.renames)
        steps.append(
            Step(rule.id, edge.id, edge.kind, edge.level, store.id, store.label, found, tuple(checked))
        )
        rule = rules[edge.origin]
    # Every path begins at a source; `optimizer.physical.validate` checks it.
    assert isinstance(rule, SourceRule)
    return Provenance(
        topology=topology,
        plan_id=trace.plan_id,
        batch=batch,
        arrival=trace.arrival,
        source=rule.id,
        start=_bound(rule.input, aliases, trace),
        start_filter=None if rule.filter is None else to_sql(rename_inputs(rule.filter, aliases)),
        steps=tuple(reversed(steps)),
        residuals=tuple(to_sql(rename_inputs(one, aliases)) for one in leaf.residuals),
    )


def _bound(name: str, aliases: Mapping[str, str], trace: ResultTrace) -> Bound:
    return Bound(aliases.get(name, name), stream_of(name), trace.times.get(name))


def _in_tree(rule: ProbeRule, stored: Expression) -> Expression:
    """The stored side of an equality under the tree's names, not the store's."""
    if inputs_of(stored) <= {tree for _, tree in rule.renames}:
        return stored
    return rename_inputs(stored, dict(rule.renames))


def _emits(rule: Rule) -> tuple[Emit, ...]:
    return rule.emits if isinstance(rule, SourceRule | ProbeRule) else ()
