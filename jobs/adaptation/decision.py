"""Recorded plan decisions, in a checkpoint's files `decisions/BATCH.json`.

A decision is durable before the batch that it is about begins. So a replay that is killed and
continued changes plans where an uninterrupted one would have, and never decides twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter

from jobs.recovery.manifest import write_durably
from optimizer.adaptation import LearntStatistics, Moved, Weighed

Kind: TypeAlias = Literal["start", "statistics", "load", "schedule", "forced"]


@dataclass(frozen=True, slots=True)
class Decision:
    """The plan from one batch on."""

    batch: int
    """The first batch that it is about."""
    kind: Kind
    """The first plan; new statistics; other numbers of tasks; queries that come or go; another plan on
    purpose, for tests."""
    epoch: int | None
    """Whose statistics were used; None if none were."""
    queries: tuple[str, ...]
    plan: str | None
    """The plan that takes over, as the checkpoint calls it; None if the running one stays."""
    before: str | None
    """The plan that ran until then."""
    cause: str
    """For people."""
    moved: Moved | None
    """The statistic that changed most since the running plan was chosen."""
    learnt: Annotated[LearntStatistics, Field(alias="known")]
    """All that the decision was made on."""
    weighed: Weighed | None
    """The two plans compared; None if there was only one to choose from."""
    running: str = ""
    """The plan that takes over as a `optimizer.planner.plan_in_use.Running` document, from which planning
    again starts; empty if there is none, or if it was given or made up."""


_DECISION: TypeAdapter[Decision] = TypeAdapter(Decision)


class Decisions:
    """All decisions of a checkpoint, in order of their batches."""

    def __init__(self, checkpoint: Path) -> None:
        self._root = checkpoint / "decisions"
        self._root.mkdir(exist_ok=True)
        paths = sorted(self._root.glob("*.json"), key=lambda p: int(p.stem))
        self.all = [_DECISION.validate_json(path.read_bytes()) for path in paths]

    def record(self, decision: Decision) -> None:
        """Durable when it returns."""
        write_durably(self._root / f"{decision.batch}.json", _DECISION.dump_json(decision, by_alias=True))
        self.all.append(decision)

    def find(self, batch: int) -> Decision | None:
        return next((d for d in self.all if d.batch == batch), None)

    def adopted(self) -> Decision | None:
        """The decision that put the newest plan in place."""
        return next((d for d in reversed(self.all) if d.plan is not None), None)
