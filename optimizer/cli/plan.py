"""The optimizer's command line: `plan`, `convert` and `schema`.

`plan` plans a workload directory, `convert` converts queries, and `schema` prints the graph's schema.

Exit codes: 0 done, 2 bad input (one line on stderr with file, place and expectation), 1
anything else.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Collection, Sequence
from pathlib import Path
from typing import NoReturn

from optimizer.algebra.errors import Infeasible, InputError, Place
from optimizer.algebra.identifiers import nearest
from optimizer.algebra.settings import size
from optimizer.cli.convert import run_convert
from optimizer.cli.options import count, not_negative, positive
from optimizer.cli.setting_options import add_calibration, add_settings, given_coefficients, given_settings
from optimizer.explain import Explanation, draw, explain, to_json, to_text
from optimizer.physical.graph import PhysicalGraph, graph_schema
from optimizer.planner.plan import STAGES, plan
from optimizer.planner.settings import PlannerSettings
from optimizer.statistics import statistics_of_workload
from optimizer.workload import load_workload


class _Parser(argparse.ArgumentParser):
    """argparse, with its complaints on one line and in our words' order."""

    def error(self, message: str) -> NoReturn:
        raise InputError("bad-option", Place("command line"), message, f"see {self.prog} --help")


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    try:
        options = parse_arguments(arguments)
        if options.command == "schema":
            print(json.dumps(graph_schema(), indent=1, sort_keys=True))
        elif options.command == "convert":
            print(run_convert(options.path, options.streams, options.out, options.json))
        else:
            _plan(options)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except Infeasible as error:
        option = "--" + error.constraint.replace("_", "-")
        print(f"command line: {option}: {error}", file=sys.stderr)
        return 2
    return 0


def parse_arguments(arguments: Sequence[str]) -> argparse.Namespace:
    """The command line's options. Raises `InputError` for what they do not admit."""
    return _parser().parse_args(arguments)


def explained(given: argparse.Namespace) -> tuple[Explanation, PhysicalGraph]:
    """Plan the workload as the options say. Raises `InputError` and `Infeasible`."""
    settings = given_settings(given, PlannerSettings)
    if given.stage is not None:
        _check_name("--stage", given.stage, STAGES)
    workload = load_workload(given.workload)
    made = plan(
        workload.queries,
        workload.catalog,
        statistics_of_workload(workload.catalog, workload.selectivities),
        method=settings.method,
        options=settings.options(
            tree_bounds=None if given.tree_bounds is None else (given.tree_bounds[0], given.tree_bounds[1]),
            time_limit_s=given.time_limit,
            coefficients=given_coefficients(given),
            task_tuples=given.task_tuples,
            memory_limit=given.memory_limit,
        ),
        retain=given.retain,
        tasks=given.parallelism,
        texts=dict(workload.sql),
        stage=given.stage,
    )
    return explain(made, second_best=True), made.graph


def _check_name(option: str, name: str, known: Collection[str]) -> None:
    if name not in known:
        expected = f"one of {', '.join(known)}"
        raise InputError(
            "bad-option", Place("command line", path=option), repr(name), expected, nearest(name, known)
        )


def _plan(given: argparse.Namespace) -> None:
    explanation, graph = explained(given)
    if given.out is not None:
        try:
            given.out.write_text(graph.to_json(), encoding="utf-8")
        except OSError as error:
            found = error.strerror or type(error).__name__
            raise InputError("unwritable-file", Place(str(given.out)), found, "a writable file") from error
    if given.graph:
        print(to_json(draw(explanation)))
    else:
        print(to_json(explanation) if given.json else to_text(explanation).rstrip("\n"))


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="python -m optimizer", description="Plan stream-join queries together.")
    commands = parser.add_subparsers(dest="command", required=True)
    _add_planning(commands.add_parser("plan", help="plan a workload directory and explain the plan"))
    _add_planning(commands.add_parser("explain", help="the same as plan: why the plan is what it is"))
    commands.add_parser("schema", help="print the JSON Schema of physical graphs")
    _add_converting(commands.add_parser("convert", help="replace trees of binary joins by multi-way joins"))
    return parser


def _add_converting(converting: argparse.ArgumentParser) -> None:
    converting.add_argument("path", type=Path, help="a file NAME.sql, or a directory with streams.yaml")
    converting.add_argument("--streams", type=Path, metavar="FILE", help="the streams.yaml")
    converting.add_argument("--out", type=Path, metavar="DIR", help="write the joins as a workload")
    converting.add_argument("--json", action="store_true", help="print one JSON object")


def _add_planning(planning: argparse.ArgumentParser) -> None:
    planning.add_argument("workload", type=Path, help="directory with streams.yaml and queries/*.sql")
    add_settings(planning, PlannerSettings)
    add_calibration(planning)
    planning.add_argument(
        "--time-limit", type=positive, default=10.0, metavar="S", help="seconds for solving"
    )
    planning.add_argument(
        "--task-tuples",
        type=positive,
        metavar="T",
        help="stored tuples that one task holds: every store gets as many tasks as it needs",
    )
    planning.add_argument(
        "--memory-limit",
        type=size,
        metavar="BYTES",
        help="how much of the stores may be in memory, 64MiB and the like too: memory has the price at which "
        "a plan by cores fits",
    )
    planning.add_argument(
        "--tree-bounds",
        type=not_negative,
        nargs=2,
        metavar=("L", "U"),
        help="merging materializes what sends more than L tuples within the longest window and holds fewer "
        "than U (default: half and twice the largest input)",
    )
    planning.add_argument("--parallelism", type=count, default=1, metavar="N", help="tasks per store")
    planning.add_argument(
        "--retain", choices=("needed", "everything"), default="needed", help="what base stores keep"
    )
    planning.add_argument(
        "--stage", metavar="NAME", help=f"the plan as it is after one of the phases {', '.join(STAGES)}"
    )
    planning.add_argument("--out", type=Path, metavar="plan.json", help="write the physical graph")
    shown = planning.add_mutually_exclusive_group()
    shown.add_argument("--json", action="store_true", help="explain as one JSON object")
    shown.add_argument("--graph", action="store_true", help="explain as nodes and edges in one JSON object")
