"""One case: generate, replay (and kill), compare."""

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path

from optimizer.physical.graph import Slices
from tests.oracle import evolving
from tests.oracle.evolving import Batches, Span, batches_of, draw_schedule, write_schedule
from tests.oracle.forced import sliced_plan
from tests.oracle.generate import generate
from tests.oracle.reference import check
from tests.oracle.replay import Run, replay, replay_until_killed


def run_case(
    seed: int,
    folder: Path,
    run: Run,
    streams: int = 3,
    queries: int = 3,
    tuples: int = 240,
    kills: int = 0,
    evolve: bool = False,
    functions: bool = False,
    slices: bool = False,
    timed: bool = False,
    absences: bool = False,
) -> str:
    """Replays the workload of a seed and compares every query with DuckDB.

    What `run` leaves open (batch size, parallelism) is drawn from the seed too.

    Args:
        folder: where workload, data and output go; must not exist yet.
        kills: how often to kill the process with SIGKILL, each time at a random batch, and to continue it.
        evolve: queries come and go on a random schedule.
        functions: queries call user functions.
        absences: further queries have outer, semi, anti and as-of joins, groups, sessions, or read others.
        timed: queries have conditions on event times, mostly in the place of windows.
        slices: base stores are cut into slices of event time, as far as they are bounded.
    Returns:
        A line that says what was compared.
    Raises:
        AssertionError: a query's multiset of results differs, or the replay failed.
    """
    chance = random.Random(f"run {seed}")
    workload = generate(seed, streams, queries, tuples, functions, timed, absences)
    workload.write(folder / "workload", folder / "data")
    rows = sum(s.tuples.num_rows for s in workload.streams)
    drawn = Run(
        run.method,
        run.batch_rows or (max(20, rows // 12) if kills or evolve else chance.choice((37, 100, 300, 5000))),
        run.parallelism or chance.choice((1, 2, 3)),
        run.options,
    )
    batches: Batches = {}
    spans: dict[str, Span] = {}
    if evolve:
        assert drawn.batch_rows is not None
        batches = batches_of(workload, folder / "batches", drawn.batch_rows)
        spans = draw_schedule(workload, seed, max(map(max, filter(None, batches.values()))) + 1)
        write_schedule(spans, folder / "workload" / "schedule.yaml")
    sliced = ""
    if slices:
        assert drawn.parallelism is not None
        graph = sliced_plan(folder / "workload", drawn.method, drawn.parallelism, seed)
        (folder / "plan.json").write_text(graph.to_json(), encoding="utf-8")
        epochs = () if "--epoch-batches" in drawn.options else ("--epoch-batches", "2")
        drawn = replace(drawn, options=(*drawn.options, *epochs, "--plan", str(folder / "plan.json")))
        sliced = f", {sum(isinstance(s.partitioning, Slices) for s in graph.stores)} sliced stores"
    where = (folder / "workload", folder / "data", folder / "out", drawn)
    killed = 0
    for _ in range(kills):
        killed += replay_until_killed(*where, chance.randint(1, 4), chance.random() < 0.5)
    if kills:
        assert killed, "the run ended before it could be killed; give it more tuples or smaller batches"
    replay(*where)
    if evolve:
        checked = evolving.check(workload, spans, batches, folder / "out")
        results = ", ".join(
            f"{name} {found} of {possible}, {needed} needed in {spans[name]}"
            for name, (needed, possible, found) in checked.items()
        )
    else:
        results = ", ".join(f"{name} {count}" for name, count in check(workload, folder / "out").items())
    return (
        f"{rows} tuples in batches of {drawn.batch_rows}, parallelism {drawn.parallelism}, "
        f"method {drawn.method or 'default'}, killed {killed} times{sliced}: {results} results"
    )
