"""Decide a running topology's grid shapes before each batch, durably.

The control plane knows plans, not shapes: of which shape a grid is just now is laid over its plan, and told
with what happened. `shapes.json` has what the policies know behind a batch. It is written behind the commit;
what a killed process has not written follows from the last manifest.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from pydantic import TypeAdapter, ValidationError

from jobs.control_plane.as_planned import AsPlanned
from jobs.recovery.batch_history import BatchLine
from jobs.recovery.checkpoint import Change, Checkpoint
from jobs.recovery.manifest import Manifest
from jobs.shapes.policies import Shapes, ShapesKnown
from jobs.sources.planner import PlannedBatch
from optimizer.algebra.errors import InputError, Place
from optimizer.partitioning.matrix.groups import grids_by_stream
from optimizer.partitioning.matrix.layout import laid_out_ids, with_groups
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class _Kept:
    """What is known behind a batch."""

    batch: int
    shapes: ShapesKnown
    per_row: dict[str, float] = field(default_factory=dict)
    """By stream, tuples accepted for each row that its source had planned: an entry may hold many."""


@dataclass(frozen=True, slots=True)
class _Shaped:
    """A plan whose grids have other shapes than it was deployed with."""

    change: Change
    """As it was deployed."""
    rows: dict[str, tuple[int, ...]]
    """Of each grid, by stream; empty if the grids are as deployed."""
    plan: str
    """The plan that has them."""


_KEPT: TypeAdapter[_Kept] = TypeAdapter(_Kept)


class LiveShapes:
    """The policies of a running topology's grids.

    Arguments: the checkpoint; what keeping a tuple for a second costs, in probe tuples.

    Raises `InputError` if the checkpoint's file cannot be read.
    """

    def __init__(self, checkpoint: Checkpoint, storage_weight: float) -> None:
        self._checkpoint = checkpoint
        self._path = checkpoint.root / "shapes.json"
        last = checkpoint.commits.last()
        kept = self._read()
        if kept is None or last is None or kept.batch > last.batch:
            kept = None
        self._shapes = Shapes(storage_weight, None if kept is None else kept.shapes)
        self._per_row = {} if kept is None else dict(kept.per_row)
        self._planned: Mapping[str, int] = {}
        self._shaped: _Shaped | None = None
        self._with_grids: dict[str, bool] = {}
        """Whether the plan last asked for has grids."""
        if last is not None and (kept is None or kept.batch < last.batch):
            self._add(last)

    def weigh_storage(self, weight: float) -> None:
        """As `Shapes.weigh_storage`."""
        self._shapes.weigh_storage(weight)

    def shaped(self, planned: PlannedBatch, change: Change) -> Change:
        """The plan of the next batch, its grids in the shapes for what that brings.

        Args:
            planned: the batch, all before it being committed.
            change: the plan that was deployed for it.
        """
        self._planned = planned.rows
        if not self._has_grids(change.plan):
            return change
        graph = self._checkpoint.graph(change.plan)
        coming = {
            stream: round(rows * self._per_row.get(stream, 1.0)) for stream, rows in planned.rows.items()
        }
        rows = self._shapes.chosen(graph, coming)
        # Another change may deploy an earlier plan again, whose shaped form was forgotten in between.
        if self._shaped is None or (self._shaped.change, self._shaped.rows) != (change, rows):
            plan_id = self._checkpoint.keep_plan(with_groups(graph, rows)) if rows else change.plan
            self._shaped = _Shaped(change, rows, plan_id)
        return replace(change, plan=self._shaped.plan)

    def as_planned(self, change: Change) -> AsPlanned | None:
        """How to tell of the deployed plan; None if the batch had its shapes.

        Args:
            change: of the newest batch, as `shaped` gave it.
        """
        if self._shaped is None or not self._shaped.rows or self._shaped.plan != change.plan:
            return None
        graph, rows = self._checkpoint.graph(self._shaped.change.plan), self._shaped.rows
        return AsPlanned(graph, laid_out_ids(graph, rows), rows)

    def committed(self, manifest: Manifest) -> None:
        """Take note of a batch that has become final, and keep what is known behind it."""
        for stream, rows in self._planned.items():
            accepted = manifest.figures.counts.accepted.get(stream, 0)
            if rows > 0 and accepted > 0:
                self._per_row[stream] = accepted / rows
        self._add(manifest)

    def _keep(self, batch: int) -> None:
        if self._shapes.known.controllers:
            unfinished = self._path.with_name("shapes.json.unfinished")
            unfinished.write_bytes(_KEPT.dump_json(_Kept(batch, self._shapes.known, self._per_row)))
            os.replace(unfinished, self._path)

    def _has_grids(self, plan: str) -> bool:
        if plan not in self._with_grids:
            # Of a plan of hundreds of queries that takes a while, and plans mostly stay.
            self._with_grids = {plan: bool(grids_by_stream(self._checkpoint.graph(plan)))}
        return self._with_grids[plan]

    def _add(self, manifest: Manifest) -> None:
        if not self._has_grids(manifest.plan):
            return
        graph = self._checkpoint.graph(manifest.plan)
        line = BatchLine(
            manifest.batch,
            0,
            manifest.epoch,
            manifest.plan,
            manifest.started_us,
            manifest.committed_us,
            manifest.figures,
        )
        self._shapes.add(line, graph)
        self._keep(manifest.batch)

    def _read(self) -> _Kept | None:
        if not self._path.exists():
            return None
        try:
            return _KEPT.validate_json(self._path.read_bytes())
        except ValidationError as error:
            raise InputError(
                "bad-checkpoint",
                Place(str(self._path)),
                str(error.errors()[0]["msg"]),
                "what is known of grids; delete the file to have their shapes chosen anew",
            ) from error


def shape_labels(graph: PhysicalGraph) -> dict[str, str]:
    """The arrangement of each grid's tasks, by stream."""
    return {
        stream: "+".join(f"{grid.columns}x{grid.rows}" for grid in store.grids)
        for stream, store in grids_by_stream(graph).items()
    }
