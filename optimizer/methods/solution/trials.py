"""Trials of a partial plan: changes that can be undone."""

from __future__ import annotations

from dataclasses import dataclass, field

Key = tuple[int, int]
"""(target state, start relation)"""


@dataclass(frozen=True, slots=True)
class PathChange:
    key: Key
    path: tuple[int, ...] | None
    """What it was."""


@dataclass(frozen=True, slots=True)
class MirChange:
    mir: int
    active: bool
    """Whether it was."""


@dataclass(slots=True)
class Trial:
    """What it takes to go back to a moment."""

    total: float
    changes: list[PathChange | MirChange] = field(default_factory=list)
    stores: dict[int, tuple[float | None, int | None]] = field(default_factory=dict)
    """Cost and copies of each store that was settled since, as they were."""
