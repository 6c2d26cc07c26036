"""Estimate the event time that one batch of a running topology spans."""

from __future__ import annotations

from math import log2

from optimizer.planner.plan_in_use import Running

_CLOSE = 2.0
"""Spans that differ by less are one: plans made for one of them are kept under the other."""


def batch_span(trigger_s: float, observed_s: float | None = None, running: Running | None = None) -> float:
    """Seconds of event time per batch, in coarse steps.

    A batch begins when the trigger is due, but later if the one before takes longer, and a source that
    replays the past faster than it happened puts half an hour into it. What epochs saw says both.

    >>> batch_span(0.5), batch_span(0.2), batch_span(0.5, 1700.0)
    (0.5, 0.25, 2048.0)

    Args:
        trigger_s: the topology's trigger, for as long as nothing was seen.
        observed_s: event time per batch in the newest epoch.
        running: the plan in use, whose span stays while it is about right: under another one it would be
            no start for the next plan.
    """
    actual = trigger_s if observed_s is None or observed_s <= 0 else observed_s
    if running is not None:
        planned = running.key.options.batch_s
        if max(planned / actual, actual / planned) <= _CLOSE:
            return planned
    return float(2 ** round(log2(actual)))
