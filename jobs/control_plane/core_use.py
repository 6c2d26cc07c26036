"""Processor time of an epoch, beside what was expected of it, and why they differ."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from jobs.protocol import CoreUse, Expect
from jobs.recovery.epochs import EpochCounts
from optimizer.physical.graph import PhysicalGraph
from optimizer.physical.rules import StoreRule, received_on

OFF = 1.5
"""From here on an estimate of processor time is called wrong: the model's own error is within it for nine of
ten plans (docs/design/cost.md)."""
_LEAST_TUPLES = 0.5


@dataclass(frozen=True, slots=True)
class Spent:
    """What an epoch took."""

    counts: EpochCounts
    """Of all its batches."""
    wall_s: float
    """Seconds from the commit before its first batch to its last one."""
    driver_us: int = 0
    """Processor time of the driver's process, microseconds."""
    processes_s: float | None = None
    """Processor seconds of all processes of the job; None where the system does not tell."""


@dataclass(frozen=True, slots=True)
class CoresUsed:
    elements: dict[str, CoreUse]
    total: CoreUse | None
    processes: float | None


def cores_used(
    graph: PhysicalGraph, spent: Spent, expected: Expect | None, estimates: Mapping[str, float]
) -> CoresUsed:
    """An epoch's processor time by element, and all of it.

    Args:
        graph: the plan that the epoch ran under.
        spent: what it took.
        expected: of this plan, from before the epoch; None if nothing was.
        estimates: tuples per second that were expected, by edge and rule.
    """
    if spent.wall_s <= 0:
        return CoresUsed({}, None, None)
    counts, known = spent.counts, {} if expected is None else expected.cores
    event_s = counts.seconds
    elements = {}
    for of, came in _tuples_of(graph).items():
        measured = counts.element_cpu_us.get(of, 0) / 1e6
        took = known[of] * event_s if of in known and event_s > 0 else None
        reason = ""
        if took is not None and _off(took, measured) > OFF:
            reason = _reason(came, counts, estimates, expected, measured / took if took > 0 else None)
        elements[of] = CoreUse(
            estimated=None if took is None else took / spent.wall_s,
            measured=measured / spent.wall_s,
            reason=reason,
        )
    measured = (counts.cpu_us + spent.driver_us) / 1e6
    whole = None if expected is None else expected.total_cores
    took = whole * event_s if whole is not None and event_s > 0 else None
    total = CoreUse(
        estimated=None if took is None else took / spent.wall_s,
        measured=measured / spent.wall_s,
        reason="" if took is None or _off(took, measured) <= OFF else _most(spent, known, elements, took),
    )
    processes = None if spent.processes_s is None else spent.processes_s / spent.wall_s
    return CoresUsed(elements, total, processes)


def _tuples_of(graph: PhysicalGraph) -> dict[str, list[str]]:
    """By store and by step, the edges that bring its tuples, and what it makes."""
    found: dict[str, list[str]] = {store.id: [] for store in graph.stores}
    for rule in graph.rules:
        if isinstance(rule, StoreRule):
            found[rule.store].append(rule.edge)
        elif received_on(rule):
            found[rule.id] = [*received_on(rule), rule.id]
    return found


def _off(estimated: float, measured: float) -> float:
    """The larger over the smaller."""
    least, most = sorted((estimated, measured))
    return most / least if least > 0 else float("inf") if most > 0 else 1.0


def _reason(
    came: list[str],
    counts: EpochCounts,
    estimates: Mapping[str, float],
    expected: Expect | None,
    ratio: float | None,
) -> str:
    """What explains most: the tuples, how much a batch spans, or what a tuple takes."""
    actuals = {**counts.edges, **counts.rules}
    least = _LEAST_TUPLES / counts.seconds
    factors = [
        max(actuals.get(of, 0) / counts.seconds, least) / max(estimates[of], least)
        for of in came
        if of in estimates
    ]
    furthest = max(factors, key=lambda factor: _off(1.0, factor), default=1.0)
    if _off(1.0, furthest) > OFF and (ratio is None or (furthest > 1) == (ratio > 1)):
        return f"{_times(furthest)} as many tuples as estimated"
    assumed = None if expected is None else expected.batch_s
    batch_s = counts.seconds / counts.batches
    if assumed is not None and _off(assumed, batch_s) > OFF and (batch_s < assumed) == ((ratio or 0) > 1):
        return f"batches span {_times(batch_s / assumed)} the event time that was assumed"
    if ratio is None:
        return "tuples as estimated, of which nothing was expected"
    return f"tuples as estimated, {_times(ratio)} the processor time for them"


def _most(spent: Spent, known: Mapping[str, float], elements: Mapping[str, CoreUse], took: float) -> str:
    """Whether steps and stores are off, or what goes on around them."""
    inside = sum(known.values()) * spent.counts.seconds
    worked = sum(use.measured for use in elements.values()) * spent.wall_s
    around = (spent.counts.cpu_us + spent.driver_us) / 1e6 - worked
    if abs(worked - inside) >= abs(around - (took - inside)):
        return f"steps and stores take {_times(worked / inside)} what was estimated" if inside > 0 else ""
    expected = took - inside
    return f"reading, messages, results and the driver take {_times(around / expected)} what was estimated"


def _times(factor: float) -> str:
    """A factor for people.

    >>> _times(2.04), _times(0.125), _times(1234.5)
    ('2.0 times', '0.12 times', '1,234 times')
    """
    form = ",.0f" if factor >= 100 else ".1f" if factor >= 1 else ".2g"
    return f"{factor:{form}} times"
