"""The plan in use, in a form that survives its process."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache

from pydantic import TypeAdapter, ValidationError

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.expression import Column
from optimizer.formulate.model import Occurrence, Retain
from optimizer.logical.query import Query
from optimizer.lower.store_layouts import Copies
from optimizer.physical.graph import PhysicalGraph
from optimizer.planner.components import QueryComponent
from optimizer.planner.context import PlanningContext
from optimizer.search.problem import Options, Solution


@dataclass(frozen=True, slots=True)
class CompatibilityKey:
    """What two contexts must share for an answer in one to be an answer in the other.

    Statistics may differ: answers are then priced anew.
    """

    method: str
    options: Options
    retain: Retain
    tasks: int
    horizon_s: float

    @classmethod
    def of(cls, context: PlanningContext) -> CompatibilityKey:
        """A context's key, without what may change from one planning to the next."""
        options = replace(context.options, time_limit_s=0.0, seed=0, memory_limit=None, memory_price=None)
        return cls(context.method, options, context.retain, context.tasks, context.horizon_s)


@dataclass(frozen=True, slots=True)
class Running:
    """The plan in use: a warm start, and what stays unless leaving repays the switch."""

    key: CompatibilityKey
    components: tuple[QueryComponent, ...]
    copies: Copies
    """Columns by which each stream's stores are partitioned."""

    @classmethod
    def of(
        cls, context: PlanningContext, components: tuple[QueryComponent, ...], graph: PhysicalGraph
    ) -> Running:
        """The plan with these answers and this graph, made in this context."""
        return cls(CompatibilityKey.of(context), components, _copies(graph))

    def to_json(self) -> str:
        """The plan as JSON, its queries by name: the caller that reads it back has them."""
        parts = tuple(
            _ComponentDocument(
                tuple(query.name for query in part.queries),
                part.numbers,
                part.solution,
                tuple(sorted(part.subsumption.items(), key=lambda pair: pair[0].id)),
                {stream: [sorted(group) for group in own] for stream, own in part.separate.items()},
            )
            for part in self.components
        )
        return _adapter().dump_json(_Document(self.key, parts, dict(self.copies)), by_alias=True).decode()

    @classmethod
    def from_json(cls, text: str, queries: Iterable[Query]) -> Running:
        """Read back what `to_json` wrote.

        Args:
            queries: those of the plan, as they were when it was made. A part one of whose
                queries is missing here is left out: nothing of it can be kept.

        Raises:
            optimizer.algebra.errors.InputError: the text is not such a document.
        """
        try:
            document = _adapter().validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(str(step) for step in first["loc"]) or "the document"
            raise InputError(
                "bad-running-plan",
                Place("running plan"),
                f"{where}: {first['msg']}",
                "what Running.to_json wrote",
            ) from error
        known = {query.name: query for query in queries}
        parts = tuple(
            QueryComponent(
                tuple(known[name] for name in part.queries),
                part.numbers,
                part.solution,
                dict(part.widening),
                {stream: tuple(map(frozenset, own)) for stream, own in part.separate.items()},
            )
            for part in document.parts
            if all(name in known for name in part.queries)
        )
        return cls(document.frame, parts, document.copies)


@dataclass(frozen=True, slots=True)
class _ComponentDocument:
    queries: tuple[str, ...]
    numbers: str
    solution: Solution
    widening: tuple[tuple[Occurrence, Occurrence], ...]
    """Pairs, since JSON's keys are texts."""
    separate: Mapping[str, Sequence[Sequence[str]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Document:
    frame: CompatibilityKey
    parts: tuple[_ComponentDocument, ...]
    copies: Mapping[str, tuple[str, ...]]


@cache
def _adapter() -> TypeAdapter[_Document]:
    return TypeAdapter(_Document)


def _copies(graph: PhysicalGraph) -> Copies:
    found: dict[str, set[str]] = {}
    for store in graph.stores:
        if store.is_base and isinstance(store.partitioning, Column):
            found.setdefault(store.inputs[0].stream, set()).add(store.partitioning.name)
    return {stream: tuple(sorted(columns)) for stream, columns in sorted(found.items())}
