"""Check whether a job can carry out a plan that it is given."""

from __future__ import annotations

from jobs.expressions.functions.udf import NotAllowed, function_of
from jobs.plan.columns import needed_columns
from jobs.plan.index import RuleIndex
from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.udf_names import user_calls
from optimizer.logical.stream import MOST_TASKS
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import ProbeRule, StoreRule, expressions_of, received_on


def check_usable(graph: PhysicalGraph, running: PhysicalGraph | None, plan_id: str) -> None:
    """Raise `InputError` unless `graph` can follow `running`.

    A plan that names what it does not contain is refused here rather than in the middle of a
    batch; so is one that declares a stream's columns differently from what is stored, and one that calls
    functions that this job may not.
    """
    place = f"plan {plan_id}"
    for store in graph.stores:
        if store.tasks > MOST_TASKS:
            raise InputError(
                "too-many-tasks",
                Place(place, path=f"stores.{store.id}.tasks"),
                str(store.tasks),
                f"at most {MOST_TASKS}, as many as arrival numbers tell apart",
            )
    ids = {edge.id for edge in graph.edges}
    stores = {store.id for store in graph.stores}
    for rule in graph.rules:
        stored = not isinstance(rule, StoreRule | ProbeRule) or rule.store in stores
        if not stored or not ids.issuperset(received_on(rule)):
            raise InputError(
                "bad-plan",
                Place(place, path=f"rules.{rule.id}"),
                "an unknown edge or store",
                "ids of this plan",
            )
    try:
        RuleIndex(graph)
        for stream in graph.streams:
            needed_columns(graph, stream.name)
    except KeyError as error:
        raise InputError("bad-plan", Place(place), f"unknown id {error}", "ids of this plan") from error
    for rule in graph.rules:
        for call in (call for expression in expressions_of(rule) for call in user_calls(expression)):
            try:
                function_of(call)
            except NotAllowed as error:
                where = Place(place, path=f"rules.{rule.id}")
                raise InputError("unknown-function", where, str(error), "functions of that file") from error
    declared = {stream.name: stream for stream in running.streams} if running is not None else {}
    for stream in graph.streams:
        known = declared.get(stream.name)
        if known is None:
            continue
        types = dict(known.columns)
        for name, kind in stream.columns:
            if types.get(name, kind) != kind or known.event_time != stream.event_time:
                raise InputError(
                    "changed-stream",
                    Place(place, path=f"streams.{stream.name}.{name}"),
                    f"type {kind}, event time {stream.event_time}",
                    f"type {types.get(name)}, event time {known.event_time}, as stored; "
                    "stop the topology and start it with an empty checkpoint",
                )
