"""Which levels of a graph one task does in a row, without waiting for the others.

Behind a level all tasks wait for each other, because what one of them has found may be for another. What
travels along an edge that stays (`RuleIndex.staying`) never is. So levels are put together into *stages*,
and tasks wait only between stages: in a cluster a stage is a stage of Spark, on one host the tasks meet
(`jobs.spark.executors.barrier_batch`).

Inside a stage levels keep their order. So a probe finds what it finds if tasks wait behind every level:
what its store is given at this level or before was either sent before the stage began, or made in it by
the task itself.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import AggregateRule, DueRule, ProbeRule, SettleRule, StoreRule, received_on


@dataclass(frozen=True, slots=True)
class Stages:
    """A batch's stages behind the sources, numbered from 1."""

    of_edge: Mapping[str, int]
    """The stage in which an edge's receiver works."""
    levels: tuple[tuple[int, ...], ...]
    """Per stage, the levels that have work in it, ascending. A level may be in several stages."""
    edges: tuple[frozenset[str], ...]
    """Per stage, the edges whose receivers work in it."""

    @property
    def count(self) -> int:
        return len(self.levels)


def stages_of(graph: PhysicalGraph, staying: frozenset[str]) -> Stages:
    """As few stages as the edges in `staying`, which lead back to their task, allow.

    A stage ends where a tuple has to go to another task, and no probe is before the last stage in which
    anything is put into its store. Without edges that stay there is one stage for every level, at most.
    """
    into = {rule.id: rule.edge for rule in graph.rules if isinstance(rule, ProbeRule)}
    due = {rule.id for rule in graph.rules if isinstance(rule, DueRule)}
    finishing = {
        rule.id: received_on(rule) for rule in graph.rules if isinstance(rule, SettleRule | AggregateRule)
    }
    stored = {rule.edge for rule in graph.rules if isinstance(rule, StoreRule)}
    of_edge: dict[str, int] = {}
    filled: dict[str, int] = defaultdict(int)
    # A level's edges come from levels before it, and what it stores is stored before it probes.
    for edge in sorted(graph.edges, key=lambda edge: (edge.level, edge.id not in stored)):
        before = into.get(edge.origin)
        if edge.origin in finishing:
            # All that a rule finishes has come to it before anything goes on.
            stage = 1 + _together(of_edge, finishing[edge.origin])
        elif before is None:
            # What falls due is sent at the first level, out of stores that no task but their own reads.
            stage = 1 + (edge.origin in due)
        else:
            stage = of_edge[before] + (edge.id not in staying)
        if edge.id in stored:
            filled[edge.target] = max(filled[edge.target], stage)
        else:
            stage = max(stage, filled[edge.target])
        of_edge[edge.id] = stage
    for edges in finishing.values():
        _together(of_edge, edges)
    levels: dict[int, set[int]] = defaultdict(set)
    behind: dict[int, set[str]] = defaultdict(set)
    for edge in graph.edges:
        levels[of_edge[edge.id]].add(edge.level)
        behind[of_edge[edge.id]].add(edge.id)
    return Stages(
        of_edge,
        tuple(tuple(sorted(levels[stage])) for stage in sorted(levels)),
        tuple(frozenset(behind[stage]) for stage in sorted(behind)),
    )


def _together(of_edge: dict[str, int], edges: Sequence[str]) -> int:
    """Put edges into the last of their stages, and return it."""
    last = max(of_edge[edge] for edge in edges)
    of_edge.update(dict.fromkeys(edges, last))
    return last
