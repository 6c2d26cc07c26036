"""Trees that find partners of what falls due.

They are chains of probes through base stores of the other side.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from optimizer.algebra.digest import digest
from optimizer.algebra.expression import Column, columns_of, inputs_of
from optimizer.algebra.types import ColumnType
from optimizer.formulate.branches import Planned, held_column
from optimizer.formulate.model import over
from optimizer.logical.canonical_inputs import canonical_names
from optimizer.logical.catalog import Catalog
from optimizer.logical.deadlines import Wait
from optimizer.logical.query import Absence, Output, Query, newest_columns
from optimizer.logical.retention import with_retentions
from optimizer.logical.window import UNBOUNDED, Sliding
from optimizer.lower.partner_stores import PartnerStores, in_order, joined_on, probing
from optimizer.physical.equalities import split_conditions
from optimizer.physical.graph import Edge, EdgeKind, GraphStore, Look
from optimizer.physical.rules import DueRule, ProbeRule, Rule, WindowBound


@dataclass(frozen=True, slots=True)
class Chain:
    """A tree that finds partners of what is due."""

    rule: str
    """The last one."""
    level: int
    newest: tuple[Column, ...]
    """What is taken of the newest partner; none if it only matters whether there is one."""


@dataclass(frozen=True, slots=True)
class PartnerTrees:
    """Writes trees of what falls due to the parts of a graph."""

    planned: Sequence[Planned]
    catalog: Catalog
    edges: dict[str, Edge]
    rules: dict[str, Rule]
    partners: PartnerStores

    def due(
        self,
        name: str,
        store: GraphStore,
        names: Mapping[str, str],
        start: str,
        read: Iterable[Column],
        level: int,
        kind: EdgeKind,
        key: Column | None,
        target: str,
        receiver: str,
    ) -> Edge:
        """Write the rule that sends columns of what is due into a tree, and its edge."""
        ordered = in_order(set(read))
        columns = tuple((held_column(c), Column(names[c.input], c.name, c.type)) for c in ordered)
        identity = digest("D", store.id, columns, receiver)
        edge = Edge(
            id=digest("E", "due", identity),
            origin=identity,
            target=target,
            kind=kind,
            key=key,
            level=level,
            columns=in_order(column for _, column in columns),
        )
        self.edges[edge.id] = edge
        streams = {
            names[item.alias]: item.stream
            for one in self.planned
            if one.conjunctive.name == name
            for item in one.branch.inputs
            if item.alias in {c.input for c in ordered}
        }
        rule = DueRule(identity, name, start, tuple(sorted(streams.items())), columns, (edge.id,))
        self.rules[rule.id] = rule
        return edge

    def chain(
        self,
        one: Planned,
        absence: Absence,
        waited: Sequence[Wait],
        wait_us: int,
        held: GraphStore,
        looks: list[Look],
        settled: Mapping[str, str],
    ) -> Chain:
        """Write the tree that finds a branch's partners for one of its absences.

        Args:
            one: the branch.
            absence: one of its.
            waited: for the absence's aliases.
            wait_us: how long combinations of the branch wait.
            held: the store in which they do.
            looks: what stores are looked into, added to.
            settled: by alias, the inputs of results, which have what an as-of join finds.
        """
        beside = tuple(item for item in one.branch.inputs if item.alias in absence.beside)
        inputs = (*beside, *absence.inputs)
        streams = {item.alias: item.stream for item in inputs}
        times = {a: Column(a, self.catalog[s].event_time, ColumnType.TIMESTAMP) for a, s in streams.items()}
        outputs = tuple(Output(item.alias, times[item.alias]) for item in beside)
        kept = with_retentions(Query("", inputs, absence.predicates, outputs, True), self.catalog)
        names = settled if absence.newest else canonical_names([kept])[0]
        windows = {names[item.alias]: item.window for item in kept.inputs}
        start = names[beside[0].alias]
        pending = {over(p, names): inputs_of(p) for p in absence.predicates}
        bound = [item.alias for item in beside]
        left = {wait.alias: wait for wait in waited}
        level, sender = 1, ""
        while left:
            alias = min(left, key=lambda a: (-len(joined_on(absence, bound, a)), a))
            wait = left.pop(alias)
            here = {names[a] for a in bound}
            fresh = [p for p, read in pending.items() if read <= {*bound, alias}]
            pending = {p: read for p, read in pending.items() if p not in set(fresh)}
            back = None if wait.back_us is None else wait.back_us + wait_us
            stream = self.catalog[streams[alias]]
            if not (wait.back_us is None or stream.is_table or windows[names[alias]].is_bounded):
                # What bounds it may be a condition of the combination alone, which is not checked here.
                windows[names[alias]] = Sliding(wait.back_us)
            own = [p for p in absence.predicates if inputs_of(p) == {alias}]
            taken = (times[alias], *newest_columns(one.branch, alias, stream)) if absence.newest else ()
            read_of = {c for p in absence.predicates for c in columns_of(p) if c.input == alias} | {
                times[alias],
                *taken,
            }
            key_wanted = min(joined_on(absence, bound, alias), key=lambda c: c.name, default=None)
            store = self.partners.store(streams[alias], alias, own, read_of, back, key_wanted)
            looks.append(Look(store.id, UNBOUNDED if wait.back_us is None else Sliding(wait.back_us)))
            equalities, others = split_conditions(fresh, frozenset(here), frozenset({names[alias]}))
            later = {c for p in pending for c in columns_of(p)}
            arriving = {
                column
                for column in {*later, *(c for p in fresh for c in columns_of(p))}
                if column.input in here
            } | {Column(names[a], times[a].name, ColumnType.TIMESTAMP) for a in bound}
            level += 1
            rename = ((store.inputs[0].input, names[alias]),)
            used = tuple(WindowBound(n, windows[n]) for n in sorted({*here, names[alias]}))
            newest = tuple(Column(names[alias], c.name, c.type) for c in taken)
            asked = [newest] if newest else []
            identity = digest("P", "due", held.id, sender, absence, store.id, rename, used, *asked)
            kind, key = probing(store, equalities)
            if sender:
                edge = Edge(
                    digest("E", "probe", identity), sender, store.id, kind, key, level, in_order(arriving)
                )
                self.lead_on(sender, edge)
            else:
                aliases = {canonical: a for a, canonical in names.items()}
                read = {Column(aliases[c.input], c.name, c.type) for c in arriving}
                edge = self.due(
                    one.conjunctive.name, held, names, start, read, level, kind, key, store.id, identity
                )
            self.rules[identity] = ProbeRule(
                id=identity,
                edge=edge.id,
                store=store.id,
                start=start,
                bound=tuple(sorted(here)),
                renames=rename,
                equalities=equalities,
                predicates=others,
                windows=used,
                out=(),
                emits=(),
                newest=newest,
            )
            sender = identity
            bound.append(alias)
        return Chain(sender, level, newest)

    def lead_on(self, probe: str, edge: Edge) -> None:
        """Send what a probe finds along an edge, which is added."""
        rule = self.rules[probe]
        assert isinstance(rule, ProbeRule)
        self.edges[edge.id] = edge
        self.rules[probe] = replace(rule, out=(edge.id,))
