"""Planner settings: one declaration for commands, documents and forms."""

from __future__ import annotations

import argparse
from dataclasses import fields, replace
from pathlib import Path

import pytest

from jobs.__main__ import _parser as jobs_parser
from jobs.cli.replay import _policy
from optimizer.algebra.errors import InputError
from optimizer.algebra.settings import BadSetting, read, schema
from optimizer.cli.plan import parse_arguments
from optimizer.cli.setting_options import add_settings, given_settings
from optimizer.methods import METHODS
from optimizer.methods.trees.tree import STRATEGIES
from optimizer.planner.settings import PlannerSettings
from optimizer.search.problem import Options
from optimizer.workload import load_workload

CLASH = Path(__file__).parent / "golden" / "clash"
NO_SETTINGS = {
    *("probe_weight", "tree_bounds", "time_limit_s", "relative_gap", "seed", "stay_discount"),
    # A running job has as many partitions as it began with, and refuses more tasks.
    "task_tuples",
    # The limit of a job is set with its memory, and has the price found.
    *("memory_limit", "memory_price"),
    # Measured of the machine, and known of the topology.
    *("coefficients", "batch_s"),
}
OTHER = {
    "method": "greedy",
    "cost": "messages",
    "storage_weight": 0.25,
    "latency_weight": 2.0,
    "storage_budget": 5e4,
    "task_capacity": 1e3,
    "mir": False,
    "single_copy": True,
    "grids": "off",
    "tree": "merging",
    "solver": "cbc",
}
"""Of every setting a value that is not its default."""
FLAGS = (
    *("--cost", "messages", "--method", "greedy", "--storage-weight", "0.25", "--latency-weight", "2"),
    *("--storage-budget", "5e4"),
    *("--task-capacity", "1000", "--no-mir", "--single-copy", "--grids", "off"),
    *("--tree", "merging", "--solver", "cbc"),
)


def test_settings_name_what_there_is() -> None:
    properties = schema(PlannerSettings)["properties"]
    assert set(properties["method"]["enum"]) == set(METHODS)
    assert set(properties["tree"]["enum"]) == set(STRATEGIES)
    assert set(OTHER) == set(properties)


def test_every_setting_is_an_option_of_planning_with_its_default() -> None:
    assert PlannerSettings().options() == Options(cost="cores")
    other = read(PlannerSettings, OTHER)
    assert other.document() == OTHER
    differing = {
        f.name
        for f in fields(Options)
        if getattr(other.options(), f.name) != getattr(PlannerSettings().options(), f.name)
    }
    assert differing == {f.name for f in fields(Options)} - NO_SETTINGS
    assert other.options(time_limit_s=3.0) == replace(other.options(), time_limit_s=3.0)


def test_planning_and_replaying_have_the_same_options() -> None:
    planning = parse_arguments(["plan", "folder", *FLAGS])
    replaying = jobs_parser("replay").parse_args(["replay", "folder", "--data", "d", "--out", "o", *FLAGS])
    assert given_settings(planning, PlannerSettings) == read(PlannerSettings, OTHER)
    assert given_settings(replaying, PlannerSettings) == read(PlannerSettings, OTHER)
    policy = _policy(replaying, read(PlannerSettings, OTHER), load_workload(CLASH))
    assert (policy.method, policy.options) == ("greedy", read(PlannerSettings, OTHER).options())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--method", "gredy"), "--method: found 'gredy', expected one of ilp, .*; did you mean greedy?"),
        (("--storage-weight", "-1"), "--storage-weight: found -1.0, expected a number from 0 to"),
        (("--storage-budget", "0"), "--storage-budget: found 0.0, expected a number above 0"),
        (("--task-capacity", "many"), "--task-capacity: found 'many', expected a number above 0"),
        (("--latency-weight", "inf"), "--latency-weight: found inf, expected a finite number"),
    ],
)
def test_an_option_that_cannot_be_is_named(arguments: tuple[str, ...], message: str) -> None:
    parser = argparse.ArgumentParser()
    add_settings(parser, PlannerSettings)
    with pytest.raises(InputError, match=message):
        given_settings(parser.parse_args(arguments), PlannerSettings)


def test_a_document_names_what_is_wrong() -> None:
    with pytest.raises(BadSetting, match="storage_wieght: setting storage_wieght instead of one of") as told:
        read(PlannerSettings, {"storage_wieght": 1})
    assert told.value.hint == "storage_weight"
