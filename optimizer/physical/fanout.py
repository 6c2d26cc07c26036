"""The factor chi of the cost model: how many tasks a tuple reaches along an edge."""

from __future__ import annotations

from optimizer.physical.graph import Edge, GraphStore, Slices
from optimizer.physical.rules import ProbeRule, Rule, StoreRule


def fanout(edge: Edge, store: GraphStore, rule: Rule) -> float:
    """Tasks of `store` that a tuple on `edge` goes to; of slices or grids an average.

    A probe of slices of width w whose windows admit event times of a span s touches s / w + 1 of them, and
    each of its at most N tasks once.

    Args:
        edge: leads to the store.
        store: the receiving one.
        rule: what receives on the edge.
    """
    if edge.kind == "all":
        return float(store.tasks)
    if edge.kind == "grid":
        probed = sum(grid.columns for grid in store.grids)
        return store.copies if isinstance(rule, StoreRule) else float(probed)
    if edge.kind == "slices" and isinstance(rule, ProbeRule):
        span = reach_us(rule)
        assert isinstance(store.partitioning, Slices)
        if span is None:
            return float(store.tasks)
        return min(float(store.tasks), span / store.partitioning.width_us(store.retention[0]) + 1.0)
    return 1.0


def reach_us(rule: ProbeRule) -> int | None:
    """Microseconds of event time where a base store's partners may lie; None is all.

    A partner is not older than the newest arriving tuple by more than its own window, nor newer than an
    arriving tuple by more than that one's window.
    """
    windows, before = rule.window_of, rule.stored_window.reach_us
    bounded = [reach for name in rule.bound if (reach := windows[name].reach_us) is not None]
    return None if before is None or not bounded else before + min(bounded)
