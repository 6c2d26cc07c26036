"""Solving a `Program`: HiGHS on arrays, or PuLP with HiGHS or CBC.

PuLP reports `Optimal` even when a time limit stopped the search, so its `sol_status` is
what counts, and a bound is taken only from where it is proven.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import inf

import highspy
import numpy as np
import pulp

from optimizer.errors import InputError, Place
from optimizer.methods.program import Answer, Program

LARGE_COLUMNS = 8000
"""Columns from which the relaxation of a program with ties is solved by an interior point method."""
SOLVERS = ("highs", "highs-pulp", "cbc")


def solve_program(
    program: Program,
    solver: str,
    time_limit_s: float,
    *,
    relative_gap: float = 0.0,
    seed: int = 0,
    start: Sequence[float] | None = None,
) -> Answer:
    """Minimize a program.

    Args:
        solver: `highs` (arrays), `highs-pulp` or `cbc` (both through PuLP).
        time_limit_s: seconds of wall clock.
        relative_gap: fraction at which the search may stop.
        start: a feasible point to begin with.
    """
    if solver == "highs":
        return _highs(program, time_limit_s, relative_gap=relative_gap, seed=seed, start=start)
    if solver in SOLVERS:
        return _pulp(program, solver, time_limit_s, relative_gap=relative_gap, start=start)
    raise InputError("unknown-solver", Place("--solver"), solver, f"one of {', '.join(SOLVERS)}")


def relax(program: Program, time_limit_s: float) -> list[float] | None:
    """An optimal vertex of the linear relaxation, or None if the time limit came first.

    Equal rates make many ties, on which the simplex method stalls: 5.2 s against 1.8 s for an
    interior point method with crossover (100 five-way queries over 10 relations). Without
    ties the simplex method is three to four times faster.
    """
    highs = _load(program, integer=False)
    highs.setOptionValue("time_limit", max(time_limit_s, 0.01))
    if len(program.cost) >= LARGE_COLUMNS and program.step() is not None:
        highs.setOptionValue("solver", "ipm")
    highs.run()
    if highs.getModelStatus() != highspy.HighsModelStatus.kOptimal:
        return None
    return list(highs.getSolution().col_value)


def _load(program: Program, integer: bool) -> highspy.Highs:
    lp = highspy.HighsLp()
    lp.num_col_ = len(program.cost)
    lp.num_row_ = len(program.row_lower)
    lp.col_cost_ = np.array(program.cost, dtype=np.double)
    lp.col_lower_ = np.zeros(len(program.cost))
    lp.col_upper_ = np.array(program.upper, dtype=np.double)
    lp.row_lower_ = np.array(program.row_lower, dtype=np.double)
    lp.row_upper_ = np.array(program.row_upper, dtype=np.double)
    lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
    lp.a_matrix_.start_ = np.array(program.row_start, dtype=np.int32)
    lp.a_matrix_.index_ = np.array(program.indices, dtype=np.int32)
    lp.a_matrix_.value_ = np.array(program.values, dtype=np.double)
    if integer:
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[is_integer] for is_integer in program.integer]
    highs = highspy.Highs()
    highs.silent()
    highs.setOptionValue("threads", 1)
    highs.passModel(lp)
    return highs


def _highs(
    program: Program,
    time_limit_s: float,
    *,
    relative_gap: float,
    seed: int,
    start: Sequence[float] | None,
) -> Answer:
    highs = _load(program, integer=True)
    highs.setOptionValue("time_limit", max(time_limit_s, 0.01))
    highs.setOptionValue("mip_rel_gap", max(relative_gap, 1e-9))
    highs.setOptionValue("random_seed", seed)
    if start is not None:
        point = highspy.HighsSolution()
        point.col_value = list(start)
        highs.setSolution(point)
    highs.run()
    return _read_highs(highs)


def _read_highs(highs: highspy.Highs) -> Answer:
    status = highs.getModelStatus()
    info = highs.getInfo()
    feasible = info.primal_solution_status == highspy.SolutionStatus.kSolutionStatusFeasible
    bound = info.mip_dual_bound
    return Answer(
        values=list(highs.getSolution().col_value) if feasible else None,
        proven=status == highspy.HighsModelStatus.kOptimal,
        infeasible=status
        in (highspy.HighsModelStatus.kInfeasible, highspy.HighsModelStatus.kUnboundedOrInfeasible),
        bound=bound if -inf < bound < inf else None,
    )


def to_pulp(program: Program) -> tuple[pulp.LpProblem, list[pulp.LpVariable]]:
    """The same program in PuLP's objects."""
    problem = pulp.LpProblem("millrace", pulp.LpMinimize)
    columns = [
        problem.add_variable(
            f"x{i}", 0, program.upper[i], cat=pulp.LpInteger if integer else pulp.LpContinuous
        )
        for i, integer in enumerate(program.integer)
    ]
    problem += pulp.LpAffineExpression(list(zip(columns, program.cost, strict=True)))
    for row, (lower, upper) in enumerate(zip(program.row_lower, program.row_upper, strict=True)):
        span = range(program.row_start[row], program.row_start[row + 1])
        expression = pulp.LpAffineExpression([(columns[program.indices[k]], program.values[k]) for k in span])
        if lower == upper:
            problem += expression == lower
        else:
            if lower > -inf:
                problem += expression >= lower
            if upper < inf:
                problem += expression <= upper
    return problem, columns


def _pulp(
    program: Program,
    solver: str,
    time_limit_s: float,
    *,
    relative_gap: float,
    start: Sequence[float] | None,
) -> Answer:
    problem, columns = to_pulp(program)
    if start is not None:
        for column, value in zip(columns, start, strict=True):
            column.setInitialValue(min(max(value, 0.0), column.upBound))
    limit = max(time_limit_s, 0.1)
    warm = start is not None
    if solver == "cbc":
        command = pulp.PULP_CBC_CMD(
            msg=False, timeLimit=limit, gapRel=relative_gap or None, warmStart=warm, threads=1
        )
    else:
        command = pulp.HiGHS(
            msg=False, timeLimit=limit, gapRel=max(relative_gap, 1e-9), warmStart=warm, threads=1
        )
    problem.solve(command)
    if solver != "cbc":
        answer = _read_highs(problem.solverModel)
        if answer.values is None:
            return answer
        # PuLP numbers columns by first use, so values are read from its variables.
        return replace(answer, values=[float(column.varValue or 0.0) for column in columns])
    proven = problem.sol_status == pulp.LpSolutionOptimal
    found = proven or problem.sol_status == pulp.LpSolutionIntegerFeasible
    values = [float(column.varValue or 0.0) for column in columns] if found else None
    bound = None
    if proven and values is not None:
        bound = sum(c * v for c, v in zip(program.cost, values, strict=True))
        bound -= relative_gap * abs(bound)
    else:
        problem.solve(pulp.PULP_CBC_CMD(msg=False, mip=False, timeLimit=limit, threads=1))
        if problem.sol_status == pulp.LpSolutionOptimal:
            bound = float(pulp.value(problem.objective))
    return Answer(
        values=values,
        proven=proven,
        infeasible=problem.sol_status == pulp.LpSolutionInfeasible,
        bound=bound,
    )
