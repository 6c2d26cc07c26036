"""Planner settings: what commands and operators may choose about plans.

They are the same, by the same names and with the same defaults: `python -m optimizer plan`, `python -m jobs
replay`, the document of a running topology and its form on the page are made from these fields.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias

import pydantic
from pydantic import Field

from optimizer.algebra.settings import SETTINGS, Settings
from optimizer.search.problem import CostUnit, Options

Method: TypeAlias = Literal["ilp", "greedy", "tree", "left-deep", "flat", "individual"]
"""The names in `optimizer.methods.METHODS`."""
PositiveNumber = Annotated[float, Field(gt=0)]
"""Pydantic makes `exclusiveMinimum` of it."""


@pydantic.dataclasses.dataclass(frozen=True, slots=True, config=SETTINGS)
class PlannerSettings(Settings):
    """How queries are planned together.

    >>> PlannerSettings(storage_weight=0.1).options().storage_weight
    0.1
    """

    method: Annotated[
        Method,
        Field(
            title="Method",
            json_schema_extra={
                "x-labels": {
                    "ilp": "integer program",
                    "tree": "join trees",
                    "left-deep": "left-deep trees",
                    "flat": "nothing materialized",
                    "individual": "every query alone",
                }
            },
        ),
    ] = "ilp"
    """How the search goes about it."""
    cost: Annotated[
        CostUnit,
        Field(
            title="Cost",
            json_schema_extra={"x-labels": {"cores": "cores and memory", "messages": "messages"}},
        ),
    ] = "cores"
    """What plans are chosen by: processor time and memory, or tuples sent and stored."""
    storage_weight: Annotated[float, Field(title="Cost of one stored tuple", ge=0, le=1e9)] = 1.0
    """Cost of one stored tuple, in probe tuples per second; by cores a factor of the price of memory."""
    latency_weight: Annotated[float, Field(title="Cost of one expected hop", ge=0, le=1e9)] = 0.0
    """Cost of one expected hop of a tuple between tasks; more of it makes probe trees flatter."""
    storage_budget: Annotated[PositiveNumber | None, Field(title="Stored tuples at most")] = None
    """Stored tuples at most, all copies counted."""
    task_capacity: Annotated[PositiveNumber | None, Field(title="Tuples per second and task at most")] = None
    """Tuples per second that one task takes at most."""
    mir: Annotated[
        bool,
        Field(
            title="Intermediate results",
            json_schema_extra={"x-labels": {"true": "stored where it pays", "false": "never stored"}},
        ),
    ] = True
    """Materialized intermediate results, stored where they pay."""
    single_copy: Annotated[
        bool,
        Field(
            title="Partitionings per store",
            json_schema_extra={"x-labels": {"false": "as many as pay", "true": "one"}},
        ),
    ] = False
    """One partitioning per store."""
    grids: Annotated[
        Literal["cost", "off", "always"],
        Field(
            title="Join matrices",
            json_schema_extra={
                "x-labels": {"cost": "where cheapest", "off": "never", "always": "all stores, for tests"}
            },
        ),
    ] = "cost"
    """Which stores are laid out as join matrices: where that is cheapest, none, or all, for tests."""
    tree: Annotated[
        Literal["cheapest", "flat", "left-deep", "top-down", "merging"],
        Field(title="Strategy for trees", json_schema_extra={"x-when": {"method": "tree"}}),
    ] = "cheapest"
    """Which join trees the method `tree` tries."""
    solver: Annotated[
        Literal["highs", "cbc"],
        Field(
            title="Solver",
            json_schema_extra={"x-when": {"method": "ilp"}, "x-labels": {"highs": "HiGHS", "cbc": "CBC"}},
        ),
    ] = "highs"
    """Branch and bound of the integer program; relaxations and neighbourhoods are always HiGHS's."""

    def options(self, **others: Any) -> Options:
        """The options of planning; `others` are no setting (`time_limit_s`)."""
        return Options(
            mirs=self.mir,
            cost=self.cost,
            single_copy=self.single_copy,
            storage_weight=self.storage_weight,
            latency_weight=self.latency_weight,
            storage_budget=self.storage_budget,
            task_capacity=self.task_capacity,
            tree=self.tree,
            solver=self.solver,
            grids=self.grids,
            **others,
        )
