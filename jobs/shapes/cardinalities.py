"""Count what a topology's stores received and will receive with the next batch.

These are the statistics of `optimizer.partitioning.matrix`.

Ingestion and levels count what they send anyway, in every task; nothing is asked of them (section 4.1
of Squall's paper). How many tuples of each stream a batch brings is known before it begins, because its
source has planned it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from jobs.plan.event_time import oldest_inside
from jobs.protocol.metrics import newest
from jobs.recovery.batch_history import BatchLine
from optimizer.partitioning.matrix.groups import Cardinality, grids_by_stream
from optimizer.physical.at_once import at_once
from optimizer.physical.graph import GraphStore, PhysicalGraph
from optimizer.physical.rules import ProbeRule, SourceRule, StoreRule

MOST_STEPS = 256
"""Of a stream; beyond that neighbours are taken together, so that tuples leave a 128th of the window late."""


@dataclass(frozen=True, slots=True)
class Step:
    """What a stream's store received in a batch, or in all batches up to one."""

    newest_us: int | None
    """Newest event time by then."""
    received: Cardinality


@dataclass(frozen=True, slots=True)
class Counted:
    """All that `Cardinalities` knows, for a checkpoint."""

    newest_us: int | None = None
    steps: dict[str, list[Step]] = field(default_factory=dict)
    """By stream."""
    keeping: dict[str, float] = field(default_factory=dict)
    """By stream, what keeping its tuples cost in the last batch."""
    shares: dict[str, float] = field(default_factory=dict)
    """By edge, tuples sent for each tuple of the stream that they start from, when it last had any."""


class Cardinalities:
    """By stream whose store is a grid, the tuples that count for its shape.

    A tuple counts while its store may hold it: until the newest event time of an earlier batch is further
    away than the store's retention, without one for ever. Keeping one tuple for a second costs
    `storage_weight` probe tuples, which makes tuples to keep larger than those to compare (Squall's relative
    tuple sizes, section 4.2.2).

    Arguments: that weight; what was counted before.
    """

    def __init__(self, storage_weight: float, counted: Counted | None = None) -> None:
        counted = counted or Counted()
        self.storage_weight = storage_weight
        self._newest_us = counted.newest_us
        self._steps = dict(counted.steps)
        self._keeping = dict(counted.keeping)
        self._shares = dict(counted.shares)

    @property
    def counted(self) -> Counted:
        return Counted(self._newest_us, self._steps, self._keeping, self._shares)

    def add(self, line: BatchLine, graph: PhysicalGraph) -> dict[str, Cardinality]:
        """Count a batch that is committed; returns what counts at its end.

        Args:
            line: the batch behind the one that was added last.
            graph: under which it ran.
        """
        counts = line.figures.counts
        latest = newest(self._newest_us, counts.newest_us)
        seconds = 0.0 if self._newest_us is None or latest is None else (latest - self._newest_us) / 1e6
        found: dict[str, Cardinality] = {}
        for stream, store in grids_by_stream(graph).items():
            self._keeping[stream] = self.storage_weight * counts.held.get(store.id, 0) * seconds
            now = _received(graph, store, counts.edges, self._keeping[stream])
            steps = [*self._counting(stream, store), Step(latest, now)]
            found[stream] = _total(steps)
            # What never leaves needs no steps to leave by.
            forever = not store.retention[0].is_bounded
            self._steps[stream] = [Step(latest, found[stream])] if forever else _few(steps)
        starts = _starts(graph)
        self._shares = {edge: share for edge, share in self._shares.items() if edge in starts}
        for edge, start in starts.items():
            if counts.accepted.get(start, 0) > 0:
                self._shares[edge] = counts.edges.get(edge, 0) / counts.accepted[start]
        self._newest_us = latest
        return found

    def expected(self, graph: PhysicalGraph, rows: Mapping[str, int]) -> dict[str, Cardinality]:
        """What will count at the end of the next batch.

        Of a stream's tuples as many will come along each edge as in the last batch that had any; before
        there was one, as many as the plan expects.

        Args:
            graph: under which it will run.
            rows: by stream, how many tuples it brings.
        """
        starts = _starts(graph)
        planned = _planned_shares(graph, starts)
        coming = {
            edge: rows.get(start, 0) * self._shares.get(edge, planned[edge]) for edge, start in starts.items()
        }
        return {
            stream: _total(
                [
                    *self._counting(stream, store),
                    Step(None, _received(graph, store, coming, self._keeping.get(stream, 0.0))),
                ]
            )
            for stream, store in grids_by_stream(graph).items()
        }

    def _counting(self, stream: str, store: GraphStore) -> list[Step]:
        """The steps whose tuples still count in a batch that begins now."""
        steps, since = self._steps.get(stream, []), oldest_inside(store.retention[0], self._newest_us)
        return [step for step in steps if step.newest_us is None or step.newest_us >= since]


def _received(
    graph: PhysicalGraph, store: GraphStore, edges: Mapping[str, float], keeping: float
) -> Cardinality:
    """What came along the edges into a store, with what keeping its tuples cost."""
    kept = {rule.edge for rule in graph.rules if isinstance(rule, StoreRule)}
    stored = probing = 0.0
    for edge in graph.edges:
        if edge.target == store.id and edge.id in kept:
            stored += edges.get(edge.id, 0)
        elif edge.target == store.id:
            probing += edges.get(edge.id, 0)
    return Cardinality(stored + keeping, probing)


def _few(steps: list[Step]) -> list[Step]:
    """The same cardinalities in at most `MOST_STEPS`.

    Two that are taken together stay as long as the later one.
    """
    if len(steps) <= MOST_STEPS:
        return steps
    pairs = (steps[i : i + 2] for i in range(0, len(steps), 2))
    return [Step(pair[-1].newest_us, _total(pair)) for pair in pairs]


def _total(steps: list[Step]) -> Cardinality:
    return Cardinality(
        sum(step.received.stored for step in steps), sum(step.received.probing for step in steps)
    )


def _starts(graph: PhysicalGraph) -> dict[str, str]:
    """By edge into a grid, the stream whose new tuples start what travels along it."""
    grids = {store.id for store in grids_by_stream(graph).values()}
    if not grids:
        return {}
    graph = at_once(graph)
    rules, edges = {rule.id: rule for rule in graph.rules}, {edge.id: edge for edge in graph.edges}
    found = {}
    for edge in graph.edges:
        if edge.target not in grids:
            continue
        origin = rules[edge.origin]
        while isinstance(origin, ProbeRule):
            origin = rules[edges[origin.edge].origin]
        assert isinstance(origin, SourceRule), "trees begin at sources"
        found[edge.id] = origin.stream
    return found


def _planned_shares(graph: PhysicalGraph, starts: Mapping[str, str]) -> dict[str, float]:
    """Share of each stream's tuples that the plan expects on each start edge.

    By edge of `starts`, what the plan expects to be sent for each tuple of its stream.

    The plan tells no rates of streams. That of a stream's least filtered edge stands for it, and of an edge
    of which nothing is expected all tuples are taken to pass.
    """
    rates = {one.id: one.tuples_per_second or 0.0 for one in graph.estimates}
    sources = {rule.id: rule.stream for rule in graph.rules if isinstance(rule, SourceRule)}
    whole: dict[str, float] = {}
    for edge in graph.edges:
        if edge.origin in sources:
            stream = sources[edge.origin]
            whole[stream] = max(whole.get(stream, 0.0), rates.get(edge.id, 0.0))
    return {
        edge: rates[edge] / whole[start] if rates.get(edge) and whole.get(start) else 1.0
        for edge, start in starts.items()
    }
