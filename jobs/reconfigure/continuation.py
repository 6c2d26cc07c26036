"""What a query that goes on needs of the stores of another plan.

It has found what it could up to the switch. From then on each of its results has a tuple that is yet to come,
not older than the watermark w, so of an input with window W it needs what is not older than w - W. A store
that wants older tuples than there are, for another query, is complete for this one if it has these. What
waits up to d looks for partners down to b before its newest tuple: for what is not older than w - d - b.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

from jobs.plan.event_time import oldest_inside
from jobs.recovery.manifest import Manifest, StoreState
from optimizer.logical.window import UNBOUNDED, Sliding, Window, union
from optimizer.physical.graph import GraphQuery, PhysicalGraph
from optimizer.physical.rules import ProbeRule, Rule


@dataclass(frozen=True, slots=True)
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
        had = stores_of(self.old)[query]
        return all(self._suffices(query, store, had) for store in stores_of(self.new)[query])

    def _goes_on(self, query: str) -> bool:
        def said(graph: PhysicalGraph) -> list[object]:
            asked = [(q.sql, q.outputs, q.key, q.marks_late) for q in graph.queries if q.name == query]
            return [*asked, *sorted(hold.stream.name for hold in graph.holds if hold.query == query)]

        if not any(one.name == query for one in self.old.queries):
            return False
        # Late tuples that are joined all the same are older than the watermark.
        return said(self.old) == said(self.new) and not self._asked(query).marks_late

    def _suffices(self, query: str, name: str, had: Collection[str]) -> bool:
        if name in self.kept and name in had:
            return True
        store = next(one for one in self.new.stores if one.id == name)
        since = self.states[name].complete_from_us
        window = union(self._needed(query, stored.stream) for stored in store.inputs)
        if since is None or since <= oldest_inside(window, self.before.watermark_us):
            return True
        if store.is_base or name in self.kept:
            return False
        # It was made of these.
        streams = {stored.stream for stored in store.inputs}
        bases = [one for one in self.new.stores if one.is_base and one.inputs[0].stream in streams]
        return all(self._suffices(query, one.id, had) for one in bases)

    def _needed(self, query: str, stream: str) -> Window:
        """How much older than the watermark tuples may be that the query finds."""
        asked = self._asked(query)
        found = [item.window.reach_us for item in asked.inputs if item.stream == stream]
        streams = {store.id: store.inputs[0].stream for store in self.new.stores}
        for hold in self.new.holds:
            for look in hold.looks:
                if hold.query == query and streams[look.store] == stream:
                    # What waits looks back once it is due, and only in its own hold.
                    back = look.back.reach_us
                    found.append(None if back is None else back + hold.longest_wait_us)
        reaches = [reach for reach in found if reach is not None]
        if len(reaches) < len(found) or not found:
            return UNBOUNDED
        read = {item.stream for item in asked.inputs}
        lags = [one.derived.lag_us for one in self.new.streams if one.derived and one.name in read]
        return Sliding(max(reaches) + max(lags, default=0))

    def _asked(self, query: str) -> GraphQuery:
        return next(one for one in self.new.queries if one.name == query)


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
