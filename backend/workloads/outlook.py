"""The joint plan of a topology's queries before and after a change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from backend.catalog.parsing import VersionText, parse_texts
from backend.planning.drafting import Planning, Registered, plan_quickly, read_learnt
from optimizer.algebra.errors import Infeasible
from optimizer.explain.division import Division, divide
from optimizer.logical.query import Query
from optimizer.statistics import LayeredStatistics, StatisticsProvider


@dataclass(frozen=True, slots=True)
class Answered:
    """The queries that a topology answers, or would."""

    registered: Registered
    keys: tuple[int, ...]
    """Of written versions."""
    versions: Mapping[int, VersionText]
    """Of these, and of all that they read."""
    drafts: tuple[tuple[Query, str], ...] = ()
    """Queries that are not written yet, beside their texts."""

    @property
    def is_empty(self) -> bool:
        return not self.keys and not self.drafts


@dataclass(frozen=True, slots=True)
class Outlook:
    """What a joint plan takes before and after; None where nothing is answered."""

    before: Division | None
    after: Division | None
    refused: str | None
    """Why there is no plan afterwards."""


def outlook(before: Answered, after: Answered, learnt: str, planning: Planning) -> Outlook:
    """Plan both sets of queries as drafts are, by what the topology has learnt.

    `learnt` is `Topology.learnt`; it goes before what is declared.
    """
    was = None if before.is_empty else _divided(before, learnt, planning)
    try:
        becomes = None if after.is_empty else _divided(after, learnt, planning)
    except Infeasible as error:
        return Outlook(was, None, str(error))
    return Outlook(was, becomes, None)


def _divided(answered: Answered, learnt: str, planning: Planning) -> Division:
    registered = answered.registered
    parsed = parse_texts(answered.versions, registered.catalog)
    queries: Sequence[Query] = [
        *(parsed[key] for key in answered.keys),
        *(query for query, _ in answered.drafts),
    ]
    measured = read_learnt(learnt)
    statistics: StatisticsProvider = registered.statistics
    if measured is not None:
        statistics = LayeredStatistics((measured.measured, statistics))
    ordered = sorted(queries, key=lambda query: query.name)
    return divide(plan_quickly(ordered, registered.catalog, statistics, {}, registered.tasks, planning))
