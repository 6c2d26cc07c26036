"""What an account may know of a topology that answers queries of several teams.

That it answers other queries may be told, and how much their parts take; their names, texts, results and how
many these are may not. Free texts, which may say anything (logs, errors, explanations), are for those who
read all that the topology was ever asked to answer.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from typing import TypeVar

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from backend.accounts.reading import reads_everything
from backend.catalog.queries import hidden_queries
from backend.topologies.asked import not_readable
from backend.topologies.models import Plan, Topology, TopologyQuery
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.restriction import restricted_to

WITHHELD = "this text may speak of queries of other teams"
"""In place of a text."""
OTHERS = "queries of other teams"
"""In place of a name, where there is one for all of them."""
V = TypeVar("V")


@dataclass(frozen=True, slots=True)
class Sight:
    """What of a topology may be told: to one account, at one moment."""

    queries: frozenset[str] | None
    """The names of those that it answers and the account reads; None for all."""
    streams: frozenset[str] | None
    """What these read."""
    elements: frozenset[str] | None
    """The ids of the parts that these need, of the plans that run and should."""

    @property
    def is_whole(self) -> bool:
        """True if nothing that it was ever asked to answer is hidden."""
        return self.queries is None

    def reads(self, query: str) -> bool:
        return self.queries is None or query in self.queries

    def reads_stream(self, stream: str) -> bool:
        return self.streams is None or stream in self.streams

    def text(self, text: str) -> str:
        """A text that may say anything; what is empty stays so."""
        return text if self.is_whole or not text else WITHHELD

    def graph(self, graph: PhysicalGraph) -> PhysicalGraph:
        """A plan as far as it may be told."""
        return graph if self.queries is None else restricted_to(graph, self.queries)

    def by_query(self, found: Mapping[str, V]) -> dict[str, V]:
        """Without the queries that are not read."""
        return {name: value for name, value in found.items() if self.reads(name)}

    def by_element(self, found: Mapping[str, V]) -> dict[str, V]:
        """The same, with other names for what no query needs which is read.

        There are as many.

        An id says of what structure a part is, to one who guesses it.
        """
        known = self.elements
        if known is None:
            return dict(found)
        return {name if name in known else _alias(name): value for name, value in found.items()}

    def by_stream(self, found: Mapping[str, V]) -> dict[str, V]:
        """Without the streams that no query reads which is read."""
        return {name: value for name, value in found.items() if self.reads_stream(name)}


WHOLE = Sight(None, None, None)
"""Of admins, of who reads all that a topology answers, and of everybody while nothing is private."""


def sight_of(account: User | AnonymousUser, topology: Topology) -> Sight:
    """What the account may know of the topology now."""
    return sights_of(account, [topology])[topology.pk]


def sights_of(account: User | AnonymousUser, topologies: Iterable[Topology]) -> dict[int, Sight]:
    """The same of several, by primary key."""
    records = list(topologies)
    if reads_everything(account):
        return {record.pk: WHOLE for record in records}
    hidden = hidden_queries(account)
    keys = [record.pk for record in records]
    names: dict[int, set[str]] = {key: set() for key in keys}
    streams: dict[int, set[str]] = {key: set() for key in keys}
    partial = set(not_readable(account, hidden).filter(topology__in=keys).values_list("topology", flat=True))
    rows = TopologyQuery.objects.filter(topology__in=keys).values_list(
        "topology", "query", "query__name", "version__inputs__stream__name"
    )
    for key, query, name, stream in rows:
        if query not in hidden:
            names[key].add(name)
            streams[key].add(stream)
    found = {}
    for record in records:
        if record.pk not in partial:
            found[record.pk] = WHOLE
            continue
        own = frozenset(names[record.pk])
        plans = {plan for plan in (record.plan, record.active_plan) if plan is not None}
        elements = frozenset[str]().union(*(_elements(plan.pk, plan.created_at, own) for plan in plans))
        found[record.pk] = Sight(own, frozenset(streams[record.pk]), elements)
    return found


@lru_cache(maxsize=512)
def _elements(plan: int, _: datetime, queries: frozenset[str]) -> frozenset[str]:
    """The parts of a plan, which never changes, that some queries need."""
    graph = PhysicalGraph.from_json(Plan.objects.values_list("graph", flat=True).get(pk=plan))
    seen = restricted_to(graph, queries)
    return frozenset(one.id for one in (*seen.stores, *seen.edges, *seen.rules))


def _alias(name: str) -> str:
    """A name that says nothing, the same for the same one."""
    found = hmac.new(settings.SECRET_KEY.encode(), name.encode(), hashlib.sha256)
    return f"of another team ({found.hexdigest()[:10]})"
