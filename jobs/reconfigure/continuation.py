"""What a query that goes on needs of the stores of another plan.

It has found what it could up to the switch. From then on each of its results has a tuple that is yet to come,
not older than the watermark w, so of an input with window W it needs what is not older than w - W. A store
that wants older tuples than there are, for another query, is complete for this one if it has these. What
waits up to d looks for partners down to b before its newest tuple: for what is not older than w - d - b.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from functools import cached_property

from jobs.plan.event_time import oldest_inside
from jobs.recovery.manifest import Manifest, StoreState
from optimizer.logical.window import UNBOUNDED, Window, union
from optimizer.physical.graph import GraphQuery, GraphStore, Hold, PhysicalGraph
from optimizer.physical.rules import ProbeRule, Rule


@dataclass(frozen=True)
class Continuation:
    """From one plan to another.

    Args:
        before: the last manifest of the old plan.
        states: of the new plan's stores.
        kept: the stores of both plans that go on as they are.
    """

    old: PhysicalGraph
    new: PhysicalGraph
    before: Manifest
    states: Mapping[str, StoreState]
    kept: Collection[str]

    def misses_nothing(self, query: str) -> bool:
        """True if a query goes on, and its stores have all that it still needs."""
        if not self._goes_on(query):
            return False
        had, needed = self._had[query], self._needed(query)
        return all(self._suffices(needed, store, had) for store in self.looked_into[query])

    @cached_property
    def looked_into(self) -> dict[str, frozenset[str]]:
        """Per query of the new plan, the stores that it looks into."""
        return stores_of(self.new)

    @cached_property
    def _had(self) -> dict[str, frozenset[str]]:
        return stores_of(self.old)

    @cached_property
    def _stores(self) -> dict[str, GraphStore]:
        return {store.id: store for store in self.new.stores}

    @cached_property
    def _asked(self) -> dict[str, GraphQuery]:
        return {asked.name: asked for asked in self.new.queries}

    @cached_property
    def _holds(self) -> dict[str, list[Hold]]:
        return _holds_of(self.new)

    @cached_property
    def _texts_before(self) -> dict[str, tuple[object, ...]]:
        return _texts(self.old)

    @cached_property
    def _texts_now(self) -> dict[str, tuple[object, ...]]:
        return _texts(self.new)

    def _goes_on(self, query: str) -> bool:
        # Late tuples that are joined all the same are older than the watermark.
        return self._texts_before.get(query) == self._texts_now[query] and not self._asked[query].marks_late

    def _suffices(self, needed: Mapping[str, Window], name: str, had: Collection[str]) -> bool:
        if name in self.kept and name in had:
            return True
        store, since = self._stores[name], self.states[name].complete_from_us
        streams = {stored.stream for stored in store.inputs}
        window = union(needed.get(stream, UNBOUNDED) for stream in streams)
        if since is None or since <= oldest_inside(window, self.before.watermark_us):
            return True
        if store.is_base or name in self.kept:
            return False
        # It was made of these.
        bases = [one for one in self.new.stores if one.is_base and one.inputs[0].stream in streams]
        return all(self._suffices(needed, one.id, had) for one in bases)

    def _needed(self, query: str) -> dict[str, Window]:
        """By stream, how much older than the watermark tuples may be that the query finds."""
        asked = self._asked[query]
        windows = [(item.stream, item.window) for item in asked.inputs]
        for hold in self._holds[query]:
            # What waits looks back once it is due, and only in its own hold.
            windows += [
                (self._stores[look.store].inputs[0].stream, look.back.longer(hold.longest_wait_us))
                for look in hold.looks
            ]
        read = {item.stream for item in asked.inputs}
        lags = [one.derived.lag_us for one in self.new.streams if one.derived and one.name in read]
        found: dict[str, Window] = {}
        for stream, window in windows:
            longer = window.longer(max(lags, default=0))
            found[stream] = longer.union(found.get(stream, longer))
        return found


def _holds_of(graph: PhysicalGraph) -> dict[str, list[Hold]]:
    found: dict[str, list[Hold]] = {query.name: [] for query in graph.queries}
    for hold in graph.holds:
        found[hold.query].append(hold)
    return found


def _texts(graph: PhysicalGraph) -> dict[str, tuple[object, ...]]:
    """By name, what tells queries apart that have the same one."""
    found: dict[str, tuple[object, ...]] = {}
    holds = _holds_of(graph)
    for one in graph.queries:
        waits = sorted(hold.stream.name for hold in holds[one.name])
        found[one.name] = one.sql, one.outputs, one.key, one.marks_late, waits
    return found


def stores_of(graph: PhysicalGraph) -> dict[str, frozenset[str]]:
    """Per query, the stores that its probes and its looks for partners look into."""
    edges = {edge.id: edge for edge in graph.edges}
    rules = {rule.id: rule for rule in graph.rules}
    passed: dict[str, frozenset[str]] = {}

    def on_the_way(rule: Rule) -> frozenset[str]:
        if not isinstance(rule, ProbeRule):
            return frozenset()
        if rule.id not in passed:
            passed[rule.id] = on_the_way(rules[edges[rule.edge].origin]) | {rule.store}
        return passed[rule.id]

    held = {hold.name: hold.query for hold in graph.holds}
    found: dict[str, frozenset[str]] = {query.name: frozenset() for query in graph.queries}
    for hold in graph.holds:
        found[hold.query] |= {look.store for look in hold.looks}
    for rule in graph.rules:
        if isinstance(rule, ProbeRule):
            for emit in rule.emits:
                found[held.get(emit.query, emit.query)] |= on_the_way(rule)
    return found
