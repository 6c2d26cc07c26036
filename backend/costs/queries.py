"""Reading what runs costs now."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Literal

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User

from backend.costs.division import Division, Measured, Use, divided
from backend.live.queries import live_state
from backend.live.state import LiveState
from backend.topologies.models import Plan, Topology, TopologyQuery
from backend.topologies.queries import topologies
from backend.topologies.sight import OTHERS, Sight, sights_of
from optimizer.physical.graph import PhysicalGraph

By = Literal["query", "team", "stream"]
GB = 1e9
"""Bytes."""
_HOURS_OF_MONTH = 730.0
_PLANS = 16


@dataclass(frozen=True, slots=True)
class Row:
    """A query, a team or a stream, and its part of what is used."""

    name: str | None
    """None for queries of no team; `OTHERS` for all that the account does not read."""
    use: Use
    topology: str | None = None
    """Of a query."""
    query: int | None = None
    """Its id."""
    team: str | None = None
    owner: str | None = None


@dataclass(frozen=True, slots=True)
class Prices:
    """What a core and a GB cost for an hour.

    None where nobody has said so.
    """

    core_hour: float | None
    gb_hour: float | None
    currency: str

    def by_month(self, use: Use) -> float | None:
        """For a month of 730 hours; None without a price.

        >>> from backend.costs.division import Use
        >>> Prices(0.04, 0.005, "EUR").by_month(Use(2.0, 4e9))
        73.0
        """
        if self.core_hour is None and self.gb_hour is None:
            return None
        hour = use.cores * (self.core_hour or 0.0) + use.bytes / GB * (self.gb_hour or 0.0)
        return hour * _HOURS_OF_MONTH


@dataclass(frozen=True, slots=True)
class Costs:
    """What all topologies use that the account knows of."""

    rows: tuple[Row, ...]
    """The largest first; together they are the total."""
    total: Use
    unmeasured: tuple[str, ...]
    """Topologies that run, and whose first whole epoch has not ended yet."""


@dataclass(slots=True)
class _Gathered:
    uses: dict[Row, Use] = field(default_factory=dict)
    """By row without its use."""

    def add(self, row: Row, use: Use) -> None:
        self.uses[row] = self.uses.get(row, Use()) + use


def prices() -> Prices:
    """As the operator has set them (MILLRACE_PRICE_CORE_HOUR and others)."""
    core, gb = settings.MILLRACE_PRICE_CORE_HOUR, settings.MILLRACE_PRICE_GB_HOUR
    return Prices(core or None, gb or None, settings.MILLRACE_CURRENCY)


def costs(account: User | AnonymousUser, by: By) -> Costs:
    """What is used now, as each running topology's newest epoch measured it.

    Raises: `redis.RedisError` and `Unavailable` where Redis does not answer.
    """
    records = list(topologies(account))
    sights, deployed = sights_of(account, records), _deployed(records)
    gathered, total, unmeasured = _Gathered(), Use(), []
    for record in records:
        state = live_state(record)
        if state.ended:
            continue
        own = deployed.get(record.pk, {})
        if not own:
            # Its last query has just left: it is about to stop.
            continue
        found = _divided(state, own.keys())
        if found is None:
            unmeasured.append(record.name)
            continue
        total += found.total
        sight = sights[record.pk]
        if by == "stream":
            _add_streams(gathered, found, sight)
        else:
            _add_queries(gathered, found, sight, own, by)
    rows = [replace(row, use=use) for row, use in gathered.uses.items()]
    rows.sort(key=lambda row: (-row.use.cores, -row.use.bytes, row.name or ""))
    return Costs(tuple(rows), total, tuple(unmeasured))


def _add_streams(gathered: _Gathered, found: Division, sight: Sight) -> None:
    for name, use in found.streams.items():
        gathered.add(Row(name if sight.reads_stream(name) else OTHERS, Use()), use)


def _add_queries(gathered: _Gathered, found: Division, sight: Sight, own: Mapping[str, Row], by: By) -> None:
    for name, use in found.queries.items():
        if not sight.reads(name):
            gathered.add(Row(OTHERS, Use()), use)
        elif by == "query":
            gathered.add(own[name], use)
        else:
            gathered.add(Row(own[name].team, Use()), use)


def _deployed(records: Iterable[Topology]) -> dict[int, dict[str, Row]]:
    """By topology and name the rows of its queries, which use nothing yet."""
    found: dict[int, dict[str, Row]] = {}
    rows = TopologyQuery.objects.filter(topology__in=[record.pk for record in records]).values_list(
        *("topology", "topology__name", "query", "query__name"),
        *("query__team__name", "query__owner__username"),
    )
    for key, topology, query, name, team, owner in rows:
        found.setdefault(key, {})[name] = Row(name, Use(), topology, query, team, owner)
    return found


def _divided(state: LiveState, named: Iterable[str]) -> Division | None:
    """None before the first epoch whose processor time is known whole."""
    epoch, batch = state.statistics, state.batch
    if epoch is None or epoch.total_cores is None or batch is None:
        return None
    plan = Plan.objects.filter(plan_id=epoch.plan_id).only("pk", "created_at").first()
    if plan is None:
        return None
    whole = epoch.total_cores.measured if epoch.process_cores is None else epoch.process_cores
    measured = Measured(
        {part: use.measured for part, use in epoch.cores.items()},
        whole,
        {store: metrics.bytes for store, metrics in batch.stores.items()},
    )
    return divided(_graph(plan.pk, plan.created_at), measured, frozenset(named))


@lru_cache(_PLANS)
def _graph(plan: int, _: datetime) -> PhysicalGraph:
    """A plan never changes once it is written."""
    return PhysicalGraph.from_json(Plan.objects.values_list("graph", flat=True).get(pk=plan))
