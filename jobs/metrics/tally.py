"""What tasks count, added up by the rules that `jobs.protocol.metrics` declares."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any, ParamSpec, TypeVar

from jobs.protocol.metrics import metrics_of

P = ParamSpec("P")
T = TypeVar("T")


class Tally:
    """Counts by declaring class, by the id that they are of, and by metric.

    >>> from jobs.protocol.metrics import EdgeMetrics
    >>> tally = Tally()
    >>> tally.add(EdgeMetrics, "E-1", tuples=2, messages=1)
    >>> tally.add(EdgeMetrics, "E-1", tuples=3, bytes=9)
    >>> tally.total(EdgeMetrics, ["E-1"])
    {'E-1': EdgeMetrics(tuples=5, messages=1, bytes=9)}
    """

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[Any, dict[str, dict[str, Any]]] = {}

    def add(self, kind: Callable[P, object], of: str, /, *_: P.args, **counts: P.kwargs) -> None:
        """Count more: keywords as for making one of the class."""
        by_metric = self._counts.setdefault(kind, {})
        rules = _rules(kind)
        for name, value in counts.items():
            by_id = by_metric.setdefault(name, {})
            by_id[of] = rules[name](by_id[of], value) if of in by_id else value

    def merge(self, other: Tally) -> None:
        """Count what another task has counted."""
        for kind, more in other._counts.items():
            by_metric = self._counts.setdefault(kind, {})
            rules = _rules(kind)
            for name, values in more.items():
                rule, by_id = rules[name], by_metric.setdefault(name, {})
                for of, value in values.items():
                    by_id[of] = rule(by_id[of], value) if of in by_id else value

    def of(self, kind: type, metric: str) -> Mapping[str, Any]:
        """A metric by id, as far as it was counted."""
        return self._counts.get(kind, {}).get(metric, {})

    def total(self, kind: Callable[..., T], ids: Iterable[str]) -> dict[str, T]:
        """The counts of each id, in this order; what was not counted has its default."""
        found = self._counts.get(kind, {}).items()
        return {of: kind(**{name: by_id[of] for name, by_id in found if of in by_id}) for of in ids}


@cache
def _rules(kind: Any) -> dict[str, Callable[[Any, Any], Any]]:
    """How each metric that tasks count adds up, by name."""
    return {name: metric.adds for name, metric in metrics_of(kind).items() if metric.adds is not None}


def added(before: object, more: object) -> dict[str, Any]:
    """The metrics of both together, as keywords for `dataclasses.replace`."""
    kind: type = type(more)
    return {name: rule(getattr(before, name), getattr(more, name)) for name, rule in _rules(kind).items()}
