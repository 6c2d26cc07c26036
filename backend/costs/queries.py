"""Reading what runs costs now."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
class Payer:
    """A query, a team or a stream."""

    name: str | None
    """None for queries of no team; `OTHERS` for all that the account does not read."""
    topology: str | None = None
    """Of a query, like all that follows."""
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
        return self.of(Use(use.cores * _HOURS_OF_MONTH, use.bytes * _HOURS_OF_MONTH))

    def of(self, hours: Use) -> float | None:
        """What core hours and byte hours cost; None without a price.

        >>> from backend.costs.division import Use
        >>> Prices(0.04, None, "EUR").of(Use(100.0, 0.0))
        4.0
        """
        if self.core_hour is None and self.gb_hour is None:
            return None
        return hours.cores * (self.core_hour or 0.0) + hours.bytes / GB * (self.gb_hour or 0.0)


@dataclass(frozen=True, slots=True)
class Costs:
    """What all topologies use that the account knows of."""

    uses: tuple[tuple[Payer, Use], ...]
    """The largest first; together they are the total."""
    total: Use
    unmeasured: tuple[str, ...]
    """Topologies that run, and whose first whole epoch has not ended yet."""


def prices() -> Prices:
    """As the operator has set them (MILLRACE_PRICE_CORE_HOUR and others)."""
    core, gb = settings.MILLRACE_PRICE_CORE_HOUR, settings.MILLRACE_PRICE_GB_HOUR
    return Prices(core or None, gb or None, settings.MILLRACE_CURRENCY)


def costs(account: User | AnonymousUser, by: By, topology: str = "") -> Costs:
    """What is used now, as each running topology's newest epoch measured it.

    With `topology` of the one of that name alone; of none if the account knows none such.

    Raises: `redis.RedisError` and `Unavailable` where Redis does not answer.
    """
    known = topologies(account)
    records = list(known.filter(name=topology) if topology else known)
    sights = sights_of(account, records)
    uses: defaultdict[Payer, Use] = defaultdict(Use)
    total, unmeasured = Use(), []
    for record, own, found in _running(records):
        if found is None:
            unmeasured.append(record.name)
            continue
        total += found.total
        for payer, use in _payments(found, sights[record.pk], own, by):
            uses[payer] += use
    largest = sorted(uses.items(), key=lambda one: (-one[1].cores, -one[1].bytes, one[0].name or ""))
    return Costs(tuple(largest), total, tuple(unmeasured))


def uses_of_teams() -> dict[str, Use]:
    """What the queries of each team use now, by its name.

    Raises: `redis.RedisError` and `Unavailable` where Redis does not answer.
    """
    uses: defaultdict[str, Use] = defaultdict(Use)
    for _, own, found in _running(list(Topology.objects.all())):
        for name, use in () if found is None else found.queries.items():
            team = own[name].team
            if team is not None:
                uses[team] += use
    return dict(uses)


def cores_of(state: LiveState) -> float | None:
    """What all processes of a job used over its newest epoch.

    None before the first that is known whole.
    """
    epoch = state.statistics
    if epoch is None or epoch.total_cores is None:
        return None
    return epoch.total_cores.measured if epoch.process_cores is None else epoch.process_cores


def _running(
    records: Sequence[Topology],
) -> Iterator[tuple[Topology, Mapping[str, Payer], Division | None]]:
    """The topologies that run, with their queries by name, and who uses what.

    None before it is measured.
    """
    deployed = _deployed(records)
    for record in records:
        state, own = live_state(record), deployed.get(record.pk, {})
        # What has lost its last query is about to stop.
        if not state.ended and own:
            yield record, own, _divided(state, own.keys())


def _payments(found: Division, sight: Sight, own: Mapping[str, Payer], by: By) -> Iterator[tuple[Payer, Use]]:
    """Who pays what of a topology, as far as it may be told."""
    if by == "stream":
        for name, use in found.streams.items():
            yield Payer(name if sight.reads_stream(name) else OTHERS), use
        return
    for name, use in found.queries.items():
        query = own[name] if sight.reads(name) else None
        if query is None:
            yield Payer(OTHERS), use
        else:
            yield query if by == "query" else Payer(query.team), use


def _deployed(records: Iterable[Topology]) -> dict[int, dict[str, Payer]]:
    """Queries by topology and name."""
    found: dict[int, dict[str, Payer]] = {}
    rows = TopologyQuery.objects.filter(topology__in=[record.pk for record in records]).values_list(
        *("topology", "topology__name", "query", "query__name"),
        *("query__team__name", "query__owner__username"),
    )
    for key, topology, query, name, team, owner in rows:
        found.setdefault(key, {})[name] = Payer(name, topology, query, team, owner)
    return found


def _divided(state: LiveState, named: Iterable[str]) -> Division | None:
    """None before the first epoch whose processor time is known whole."""
    epoch, batch, whole = state.statistics, state.batch, cores_of(state)
    if epoch is None or whole is None or batch is None:
        return None
    plan = Plan.objects.filter(plan_id=epoch.plan_id).only("pk", "created_at").first()
    if plan is None:
        return None
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
