"""The physical graph: the only thing that the optimizer hands to the runtime.

A graph holds streams, stores, edges and rules (dissertation sections 4.1 and 8.3.1). A
rule says what its receiver does with what arrives on an edge: a source rule filters a
stream's new tuples and sends them on, a store rule keeps them, a probe rule joins them
with a store's tuples. Rules form one probe tree per starting input; equal prefixes are
one rule, found by `optimizer.algebra.digest`, and the digest labels metrics and page elements.

Names. Within a graph every occurrence of a stream is a *canonical input*: `departures`,
`departures#2`, ... A message column and an expression column are `Column(input, name)`.
A base store keeps its columns under the input name `departures` (the stream's own);
a MIR store under the canonical inputs of the relation it holds. A probe rule renames a
store's inputs into those of its own tree.

Levels. Level L is the step of a batch in which an edge's receiver works; sources are level 0.
Within a level all store rules run before all probe rules. A probe into a MIR store lies at
or behind the last level that stores into it.

Order. Each tuple has an arrival number; a result is found from the newest of its tuples.
With (a, k) the arrival number and the canonical input's ordinal (1 for `departures`, 2
for `departures#2`), a start tuple (a, k) sees a stored tuple (a', k') iff (a', k') < (a, k).
A tuple stored in an MIR carries the (a, k) of the start tuple that made it.

Holds. What waits for a deadline lies in the base store of a stream of its own, whose event time is the
deadline. Once the watermark has passed it, due rules send it as new tuples of the batch, which see all that
is stored; probe trees find its partners, and settle rules answer by whether it has any. Groups wait as
states in such a store too; what is due of them meets in aggregate rules. Running groups wait for nothing:
their states go to the task of their keys, whose aggregate rule keeps them in the store.

Derived streams. Results of a query with branches that others read are tuples of a stream, which come in one
batch after they are found, and are stored and probed with as any.

Windows. For inputs i, j bound together, t_j lies in the window of i for every ordered pair: for a sliding
one t_j - t_i <= window_i. Documents have microseconds, inclusive; null is unbounded.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cache
from typing import Annotated, Any, Literal

from pydantic import Field, TypeAdapter, ValidationError, model_validator

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.expression import Column
from optimizer.algebra.types import ColumnType
from optimizer.logical.source import CONNECTORS, Source
from optimizer.logical.stream import LatePolicy
from optimizer.logical.window import Window
from optimizer.physical.groups import Groups
from optimizer.physical.rules import Rule, WindowBound
from optimizer.physical.task_grid import TaskGrid, task_grids

GRAPH_VERSION: Literal[1] = 1


@dataclass(frozen=True, slots=True)
class Derivation:
    """What fills a stream that no source brings: leaves of a query called as it.

    What they find in a batch is stored, and comes in with the tuples of the next one.
    """

    label: str
    """What a text calls the query, for people."""
    store: str
    """Keeps results from the batch that finds them to the next."""
    edges: tuple[tuple[str, str], ...]
    """(rule, edge): along which a rule's leaf sends results there."""
    lag_us: int
    """Once the watermark has passed an event time by so much, all results of that time are found."""
    tier: int
    """How many streams of results lie between it and the sources."""


@dataclass(frozen=True, slots=True)
class GraphStream:
    name: str
    event_time: str
    columns: tuple[tuple[str, ColumnType], ...]
    lateness_us: int
    late: LatePolicy
    source: Source | None = None
    """Where the runtime reads it, if producers do not send it to Millrace."""
    max_ahead_us: int | None = None
    """As `Stream.max_ahead`, in microseconds."""
    derived: Derivation | None = None
    """Given if its tuples are results of this graph."""

    @model_validator(mode="before")
    @classmethod
    def _take_in(cls, document: Any) -> Any:
        """Move a connector's settings from a stream's own fields to where they belong."""
        if not isinstance(document, dict):
            return document
        own = {key: value for key, value in document.items() if key not in CONNECTORS}
        named = {key: document[key] for key in CONNECTORS if document.get(key) is not None}
        return {**own, "source": named} if named else own


@dataclass(frozen=True, slots=True)
class StoredInput:
    """An input whose tuples a store holds, with the columns probes and results need."""

    input: str
    stream: str
    columns: tuple[str, ...]
    """Sorted; always includes the stream's event-time column."""


@dataclass(frozen=True, slots=True)
class Slices:
    """Event time in disjoint slices, dealt out to a store's tasks in turn.

    `count` slices cover the store's retention. A tuple is kept in the task of its slice alone, and a probe
    goes to the tasks whose slices its windows touch (Wang, Rundensteiner, EDBT 2009, section 3).
    """

    count: int
    smoothed: bool = True
    """True if the runtime moves the boundaries, so that slices hold equal counts (section 6); false keeps
    the slices that the plan begins with."""
    kind: Literal["slices"] = "slices"

    def __post_init__(self) -> None:
        if self.count < 1:
            raise ValueError(f"{self.count} slices cannot cover a store's retention")

    def width_us(self, retention: Window) -> int:
        """The width with which slices begin, microseconds.

        >>> from optimizer.logical.window import Sliding
        >>> Slices(4).width_us(Sliding(10))
        3
        """
        assert retention.reach_us is not None, "slices have a retention: see optimizer.physical.validate"
        return max(1, -(-retention.reach_us // self.count))


@dataclass(frozen=True, slots=True)
class Grid:
    """A store's N tasks as `groups` rows of N / `groups`, each with all tuples.

    A tuple is kept in one task of every row, in the same column of each, and a probe goes to all tasks of one
    row; arrival numbers say which, whatever the tuples contain (Elseidy et al., PVLDB 7(6), 2014, section
    3.1).
    """

    groups: int
    kind: Literal["grid"] = "grid"

    def __post_init__(self) -> None:
        if self.groups < 1:
            raise ValueError(f"{self.groups} rows cannot hold a store")


@dataclass(frozen=True, slots=True)
class Grids:
    """A store's N tasks as independent grids of powers of two, the largest first.

    A tuple is kept in one of the grids, each of which has a share of them as large as its share of the tasks;
    there it is kept as in a `Grid`. A probe goes to one row of every grid. Arrival numbers decide (Elseidy et
    al., PVLDB 7(6), 2014, section 4.2.2).
    """

    rows: tuple[int, ...]
    """Of each grid. One grid is a `Grid`, and grids of one row each place tuples no other than at random."""
    kind: Literal["grids"] = "grids"

    def __post_init__(self) -> None:
        if len(self.rows) < 2 or min(self.rows) < 1 or max(self.rows) < 2:
            raise ValueError(f"rows {self.rows} are not those of several grids, one of them with copies")


@dataclass(frozen=True, slots=True)
class GraphStore:
    """A relation's tuples, spread over `tasks` partitions.

    `partitioning` is the column whose hash places a tuple, or the slices of event time by which tuples of a
    base store are placed, or grids of tasks; None places them at random.
    A stored tuple is evicted once, for any of its inputs, the watermark has passed the
    input's event time by more than that input's retention; None keeps it for ever.
    """

    id: str
    label: str
    """For people: `departures[origin]`, `departures[time/8]`, `departures*weather`."""
    inputs: tuple[StoredInput, ...]
    """One for a base store, two or more for a materialized intermediate result."""
    partitioning: Column | Slices | Grid | Grids | None
    tasks: int
    retention: Annotated[tuple[Window, ...], Field(alias="retention_us")]
    """Per entry of `inputs` the union of the windows in which it is read."""
    key: tuple[str, ...] = ()
    """If there are any columns, tuples are versions of what these say: of those that would be evicted the
    newest of every key stays, which is in force until the next one."""

    @property
    def is_base(self) -> bool:
        return len(self.inputs) == 1

    @property
    def grids(self) -> tuple[TaskGrid, ...]:
        """The store's tasks as grids: a single row of all where tuples are kept once."""
        match self.partitioning:
            case Grid(groups=rows):
                return task_grids(self.tasks, (rows,))
            case Grids(rows=rows_of_each):
                return task_grids(self.tasks, rows_of_each)
            case _:
                return task_grids(self.tasks, (1,))

    @property
    def copies(self) -> float:
        """How often the tasks together hold a tuple; of several grids on average."""
        return sum(grid.rows * grid.tasks for grid in self.grids) / self.tasks

    @property
    def first_copy(self) -> frozenset[int]:
        """Tasks that together hold every tuple once."""
        return frozenset(task for grid in self.grids for task in grid.row(0))


EdgeKind = Literal["shuffle", "group_by", "all", "slices", "grid", "home", "group"]


@dataclass(frozen=True, slots=True)
class Edge:
    """A connection from a rule to a store, along which messages of one shape travel.

    `shuffle` sends each tuple to one task, chosen freely; `group_by` to the task of `key`'s
    hash; `all` to every task; `slices` to the task of the tuple's own slice in order to store it, and to the
    tasks of all slices that it may find partners in, in order to probe; `grid` to one task in every row of
    one of the store's grids in order to store it, and to one row of each in order to probe. Store edges of
    random stores are `shuffle`, probes of them `all`. `home` leads to a settle rule, in the task from which
    what was held was sent, and `group` to an aggregate rule, in the task of the hash of all keys of a group.
    """

    id: str
    origin: str
    """The id of the sending rule."""
    target: str
    """The id of the receiving store."""
    kind: EdgeKind
    key: Column | None
    """The sender's column to hash, for `group_by`; cast to the type of the store's partitioning."""
    level: int
    """The stage in which the target handles it, from 1."""
    columns: tuple[Column, ...]
    """What a message carries, besides the start's arrival number and ordinal."""


@dataclass(frozen=True, slots=True)
class Look:
    """A store in which partners of held combinations are looked for."""

    store: str
    back: Annotated[Window, Field(alias="back_us")]
    """How much older than the newest tuple of a combination its partners may be."""


@dataclass(frozen=True, slots=True)
class Hold:
    """Combinations of a query that wait until no tuple can change their outcome."""

    name: str
    """The query of the emits that hold them."""
    query: str
    """The query that they answer once they are due."""
    label: str
    """For people: `orders without payments`."""
    stream: GraphStream
    """What they are while they wait: the columns needed of them, the deadline as event time."""
    store: str
    edges: tuple[tuple[str, str], ...]
    """(rule, edge): along which the combinations that a rule's leaf holds go to the store."""
    times: tuple[str, ...]
    """The columns with their tuples' event times."""
    deadlines: tuple[tuple[WindowBound, ...], ...]
    """Per stream of partners, bounds on its event times by columns of the combination: partners come no
    later than the earliest of time + window. The deadline is the latest of these."""
    looks: tuple[Look, ...]
    direct: tuple[tuple[str, str], ...] = ()
    """(rule, edge): along which what is due as a rule finds it goes past the store."""
    groups: Groups | None = None
    """What waits are states of groups, if these are given."""
    tier: int = 0
    """How many streams of results lie between what waits and the sources, one behind the other: it falls due
    by the watermark that these have come to."""

    @property
    def is_running(self) -> bool:
        """True of groups without an end: nothing of them waits."""
        return self.groups is not None and self.groups.running

    @property
    def longest_wait_us(self) -> int:
        """How long after its newest tuple a combination may wait."""
        waits = [
            min(reach for bound in bounds if (reach := bound.window.reach_us) is not None)
            for bounds in self.deadlines
        ]
        return max(waits, default=0)

    def among(self, stores: Mapping[str, str]) -> Hold:
        """The same where the stores are called otherwise."""
        looks = tuple(replace(look, store=stores.get(look.store, look.store)) for look in self.looks)
        return replace(self, store=stores.get(self.store, self.store), looks=looks)


@dataclass(frozen=True, slots=True)
class GraphFunction:
    """A user function of expressions; the runtime has its code in its functions file."""

    name: str
    arguments: tuple[ColumnType, ...]
    returns: ColumnType
    cost_us: float
    """Of one row, declared or measured; what the plan was chosen with."""


@dataclass(frozen=True, slots=True)
class QueryInput:
    alias: str
    input: str
    """The canonical input that stands for the alias."""
    stream: str
    window: Annotated[Window, Field(alias="window_us")]
    """The stated one, or less where predicates bound what is needed (`optimizer.logical.retention`)."""


@dataclass(frozen=True, slots=True)
class GraphQuery:
    name: str
    sql: str
    inputs: tuple[QueryInput, ...]
    outputs: tuple[tuple[str, ColumnType], ...]
    marks_late: bool
    """True if a stream's policy is `join`: results then end in a boolean column `_late`."""
    key: tuple[str, ...] | None = None
    """Of running groups the outputs by which a row is known, none of them for a single row: a result takes
    the place of the one with this key, and a boolean column `_deleted` at the end says that there is none
    any more. None if results stay."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """What the optimizer expects of an element, to be shown beside what happens."""

    id: str
    """Of a store, edge or rule."""
    tuples_per_second: float | None = None
    """Sent along an edge (before copies), or produced by a rule."""
    tuples: float | None = None
    """Held by a store."""
    cost: float | None = None
    """In the cost model's unit, probe tuples per second."""


@dataclass(frozen=True, slots=True)
class PhysicalGraph:
    """A complete plan for one topology; see the module's text for its meaning."""

    streams: tuple[GraphStream, ...]
    stores: tuple[GraphStore, ...]
    edges: tuple[Edge, ...]
    rules: tuple[Rule, ...]
    queries: tuple[GraphQuery, ...]
    estimates: tuple[Estimate, ...] = ()
    method: str = ""
    functions: tuple[GraphFunction, ...] = ()
    """The user functions that any expression calls, by name."""
    holds: tuple[Hold, ...] = ()
    """Of queries with outer, semi, anti or as-of joins, or with groups."""
    version: Literal[1] = GRAPH_VERSION

    @property
    def sources(self) -> tuple[GraphStream, ...]:
        """The streams that come from outside."""
        return tuple(stream for stream in self.streams if stream.derived is None)

    @property
    def derived(self) -> tuple[GraphStream, ...]:
        """The streams of the graph's own results."""
        return tuple(stream for stream in self.streams if stream.derived is not None)

    @property
    def answered(self) -> tuple[GraphQuery, ...]:
        """The queries whose results leave; those of others are streams."""
        inner = {stream.name for stream in self.derived}
        return tuple(query for query in self.queries if query.name not in inner)

    def read_by(self, query: str) -> frozenset[str]:
        """The streams from outside that a query reads, also by way of other results."""
        inner = {stream.name for stream in self.derived}
        asked = next(one for one in self.queries if one.name == query)
        found = {item.stream for item in asked.inputs}
        return frozenset(found - inner).union(*(self.read_by(name) for name in found & inner))

    @property
    def tiers(self) -> int:
        """How many streams of results lie one behind the other."""
        return max((1 + stream.derived.tier for stream in self.streams if stream.derived), default=0)

    @property
    def waits(self) -> bool:
        """True if anything waits for the watermark or the next batch."""
        return bool(self.holds) or self.tiers > 0

    @property
    def depth(self) -> int:
        """The number of levels behind the sources: of Spark stages after ingestion."""
        return max((edge.level for edge in self.edges), default=0)

    @property
    def tables(self) -> frozenset[str]:
        """The streams whose tuples are versions.

        Their event times say nothing of how far time has come.
        """
        return frozenset(item.stream for store in self.stores if store.key for item in store.inputs)

    def to_json(self) -> str:
        """Stable, indented JSON: equal graphs give equal bytes."""
        document = _adapter().dump_python(self, mode="json", by_alias=True)
        for stream in document["streams"]:
            # Plans are known by their bytes: a connector's settings stand among the stream's own fields.
            stream.update(stream.pop("source") or {})
            if stream["derived"] is None:  # Only results have it.
                del stream["derived"]
        for store in document["stores"]:
            if not store["key"]:  # Only tables have it.
                del store["key"]
        for rule in document["rules"]:
            for part in (rule, *rule.get("found", ())):
                if part.get("newest") == []:  # Only as-of joins have it.
                    del part["newest"]
        for query in document["queries"]:
            if query["key"] is None:  # Only running groups have it.
                del query["key"]
        if not self.holds:
            del document["holds"]
        for hold in document.get("holds", ()):
            if hold["groups"] is None:
                del hold["groups"], hold["direct"]
            if not hold["tier"]:
                del hold["tier"]
        return json.dumps(document, indent=1, sort_keys=True, ensure_ascii=False) + "\n"

    @staticmethod
    def from_json(text: str | bytes, source: str = "plan.json") -> PhysicalGraph:
        """Read a graph back. Raises `InputError` that names the path of the first fault.

        >>> graph = PhysicalGraph(streams=(), stores=(), edges=(), rules=(), queries=())
        >>> PhysicalGraph.from_json(graph.to_json()) == graph
        True
        """
        try:
            return _adapter().validate_json(text)
        except ValidationError as error:
            first = error.errors()[0]
            path = ".".join(str(part) for part in first["loc"] if part != "source")
            raise InputError(
                "bad-plan", Place(source, path=path or None), repr(first["input"])[:80], first["msg"]
            ) from error


@cache
def _adapter() -> TypeAdapter[PhysicalGraph]:
    return TypeAdapter(PhysicalGraph)


def graph_schema() -> dict[str, Any]:
    """The JSON Schema of the document, kept in `optimizer/physical_graph.schema.json`.

    >>> graph_schema()["title"]
    'PhysicalGraph'
    """
    schema = _adapter().json_schema()
    fields = schema["$defs"]["GraphStream"]["properties"]
    (sources,) = (kind for kind in fields.pop("source")["anyOf"] if kind.get("type") == "object")
    fields |= sources["properties"]
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **schema}
