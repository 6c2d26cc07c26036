"""What a module of the runtime keeps for each plan in use."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar
from weakref import WeakKeyDictionary

from jobs.plan.index import RuleIndex

Kept = TypeVar("Kept")


class PerPlan(Generic[Kept]):
    """A value per plan's index, made when first asked for, forgotten with the index.

    So the index knows nothing of those who read it, and what they derive from it lives as long.
    """

    def __init__(self, new: Callable[[], Kept]) -> None:
        self._new = new
        self._kept: WeakKeyDictionary[RuleIndex, Kept] = WeakKeyDictionary()

    def __getitem__(self, index: RuleIndex) -> Kept:
        kept = self._kept.get(index)
        if kept is None:
            kept = self._kept[index] = self._new()
        return kept
