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
import numpy.typing as npt
import pulp

from optimizer.algebra.errors import InputError, Place
from optimizer.methods.ilp.program import Answer, Program, Relaxation

INTERIOR_COLUMNS = 2500
"""Columns from which the relaxation of a program with ties is solved by an interior point method."""
SIMPLEX_ITERATIONS = 40_000
"""Iterations that the simplex method may take before the interior point method is tried instead."""
INTERIOR_ITERATIONS = 150
"""Iterations of the interior point method; 20 to 40 are usual."""
INTERIOR_TOLERANCE = 1e-5
"""Relative optimality at which the interior point method stops. Its bound is exact by weak duality whatever
the point; at 1e-8 it is better by a millionth and takes a fifth longer."""
RESOLVE_NODES = 50
"""Nodes of one neighbourhood's search; nearly all are solved at the root."""
STRONG_BRANCHINGS = 1
"""Times that a variable's effect is measured in a program with ties before it is estimated. At HiGHS's
own 8 it sees a quarter of the nodes in the same time (30 queries over splits, 10 relations)."""
ROOT_HEURISTICS = ("feasibility_jump", "rins", "rens", "root_reduced_cost")
"""Those that HiGHS runs even if it is to spend no effort on heuristics."""
SOLVERS = ("highs", "highs-pulp", "cbc")


def solve_program(
    program: Program,
    solver: str,
    time_limit_s: float,
    *,
    relative_gap: float = 0.0,
    seed: int = 0,
    start: Sequence[float] | None = None,
    nodes: int | None = None,
    below: float | None = None,
    relaxed: Relaxation | None = None,
) -> Answer:
    """Minimize a program.

    Args:
        solver: `highs` (arrays), `highs-pulp` or `cbc` (both through PuLP).
        time_limit_s: seconds of wall clock.
        relative_gap: fraction at which the search may stop.
        start: a feasible point to begin with.
        nodes: nodes after which HiGHS stops. Unlike the time limit this ends at the same point
            in every run; the other solvers know only the time limit.
        below: look only for points whose objective is below this, for a proof that there are
            none: HiGHS then leaves out its own heuristics, which took three quarters of the time
            (30 five-way queries over 10 relations, uniform: 1.6 s of CPU instead of 7.5 s). If it
            finds none the answer is infeasible. The other solvers minimize from `start` instead.
        relaxed: the program's relaxation. With `below`, HiGHS then gets no columns that it excludes: two
            fifths of all, a proof in half the time (100 five-way queries over 100 relations, paid, uniform).
    """
    if solver == "highs":
        return _highs(program, time_limit_s, relative_gap, seed, start, nodes, below, relaxed)
    if solver in SOLVERS:
        return _pulp(program, solver, time_limit_s, relative_gap=relative_gap, start=start)
    raise InputError("unknown-solver", Place("--solver"), solver, f"one of {', '.join(SOLVERS)}")


def relax(program: Program, time_limit_s: float) -> Relaxation:
    """Solve the linear relaxation: a point to follow, and a bound even if cut off.

    Equal rates make many ties, on which the simplex method stalls: over 8 s against 2.8 s for
    an interior point method (100 five-way queries over 10 relations, paid). Without ties the
    simplex method is three to four times faster, because nearly everything is integral.
    Presolve is off in the interior point method: a solve that is cut off inside presolved rows
    has no duals for the program's own.
    """
    left = max(time_limit_s, 0.01)
    first = None
    if len(program.cost) < INTERIOR_COLUMNS or program.step() is None:
        highs = _load(program, integer=False)
        highs.setOptionValue("time_limit", left / 2)
        highs.setOptionValue("simplex_iteration_limit", SIMPLEX_ITERATIONS)
        first = _relaxation(highs, program)
        if first.finished:
            return first
        left /= 2
    highs = _load(program, integer=False)
    highs.setOptionValue("time_limit", left)
    highs.setOptionValue("solver", "ipm")
    highs.setOptionValue("presolve", "off")
    highs.setOptionValue("run_crossover", "off")
    highs.setOptionValue("ipm_iteration_limit", INTERIOR_ITERATIONS)
    highs.setOptionValue("ipm_optimality_tolerance", INTERIOR_TOLERANCE)
    second = _relaxation(highs, program)
    if first is None or second.bound >= first.bound:
        return second
    return first


def _relaxation(highs: highspy.Highs, program: Program) -> Relaxation:
    highs.run()
    finished = highs.getModelStatus() == highspy.HighsModelStatus.kOptimal
    solution = highs.getSolution()
    bound, reduced = -inf, np.zeros(0)
    if len(solution.row_dual) == len(program.row_lower):
        bound, reduced = dual_bound(program, np.array(solution.row_dual))
    values = np.clip(np.array(solution.col_value), 0.0, np.array(program.upper))
    usable = finished or (solution.value_valid and len(values) == len(program.cost))
    return Relaxation(values.tolist() if usable else None, bound, reduced.tolist(), finished)


def dual_bound(program: Program, duals: npt.NDArray[np.double]) -> tuple[float, npt.NDArray[np.double]]:
    """A lower bound from any row duals, by weak duality, and the reduced costs.

    The duals need not be optimal.

    The rows are priced into the objective, and every variable is then as small or as large as
    its reduced cost asks. A dual whose side of the row is infinite counts as zero.
    """
    lower, upper = np.array(program.row_lower), np.array(program.row_upper)
    side = np.where(duals > 0, lower, upper)
    priced = np.where(np.isfinite(side) & np.isfinite(duals), duals, 0.0)
    side = np.where(np.isfinite(side), side, 0.0)
    weights = np.repeat(priced, np.diff(program.row_start)) * np.array(program.values)
    shares: npt.NDArray[np.double] = np.bincount(
        np.array(program.indices, dtype=np.int64), weights, minlength=len(program.cost)
    ).astype(np.double, copy=False)
    reduced = np.array(program.cost, dtype=np.double) - shares
    below = reduced < 0
    return float(priced @ side + reduced[below] @ np.array(program.upper)[below]), reduced


def decided(
    program: Program, relaxed: Relaxation, below: float
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The columns that are 0, and 1, in all integer points below an objective.

    Source: reduced cost fixing (Dantzig, Fulkerson and Johnson, Operations Research 2, 1954).
    """
    reduced = np.array(relaxed.reduced)
    if not len(reduced):
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    least = max(below - relaxed.bound, 0.0) + 1e-6 * abs(below)
    binary = np.array(program.integer) & (np.array(program.upper) == 1.0)
    zeros, ones = np.nonzero(binary & (reduced > least))[0], np.nonzero(binary & (reduced < -least))[0]
    return zeros.astype(np.int32), ones.astype(np.int32)


class Resolver:
    """Solves one program again and again, most columns held at known values.

    What is left is handed over as a program of its own: HiGHS would copy and presolve all
    columns, which takes several times longer than the search itself.
    """

    def __init__(self, program: Program) -> None:
        self._cost = np.array(program.cost)
        self._upper = np.array(program.upper)
        self._integer = np.array(program.integer)
        self._lower_side, self._upper_side = np.array(program.row_lower), np.array(program.row_upper)
        self._indices = np.array(program.indices, dtype=np.int64)
        self._values = np.array(program.values)
        self._row_of = np.repeat(np.arange(len(program.row_lower)), np.diff(program.row_start))

    def solve(
        self, point: npt.NDArray[np.double], held: npt.NDArray[np.int64], time_limit_s: float
    ) -> list[float] | None:
        """A better point than the feasible one given, with held columns as they were."""
        if time_limit_s <= 0:
            return None
        loose = np.ones(len(point), dtype=bool)
        loose[held] = False
        columns = np.nonzero(loose)[0]
        if not len(columns):
            return None
        highs = highspy.Highs()
        highs.silent()
        highs.passModel(self._rest(point, loose, columns))
        start = highspy.HighsSolution()
        start.col_value = point[columns].tolist()
        highs.setSolution(start)
        highs.setOptionValue("threads", 1)
        highs.setOptionValue("mip_rel_gap", 1e-6)
        highs.setOptionValue("mip_max_nodes", RESOLVE_NODES)
        highs.setOptionValue("time_limit", time_limit_s)
        highs.run()
        if highs.getInfo().primal_solution_status != highspy.SolutionStatus.kSolutionStatusFeasible:
            return None
        values = point.copy()
        values[columns] = highs.getSolution().col_value
        before = float(self._cost @ point)
        return values.tolist() if self._cost @ values < before - 1e-9 * abs(before) else None

    def _rest(
        self, point: npt.NDArray[np.double], loose: npt.NDArray[np.bool_], columns: npt.NDArray[np.int64]
    ) -> highspy.HighsLp:
        """The program over the columns that are not held.

        Rows that have none of them are left out.
        """
        rows = len(self._lower_side)
        kept = loose[self._indices]
        weights = self._values[~kept] * point[self._indices[~kept]]
        fixed = np.bincount(self._row_of[~kept], weights, minlength=rows).astype(np.double)
        counts = np.bincount(self._row_of[kept], minlength=rows)
        present = counts > 0
        number = np.cumsum(loose) - 1
        lp = highspy.HighsLp()
        lp.num_col_ = len(columns)
        lp.num_row_ = int(present.sum())
        lp.col_cost_ = self._cost[columns]
        lp.col_lower_ = np.zeros(len(columns))
        lp.col_upper_ = self._upper[columns]
        lp.row_lower_ = (self._lower_side - fixed)[present]
        lp.row_upper_ = (self._upper_side - fixed)[present]
        lp.a_matrix_.format_ = highspy.MatrixFormat.kRowwise
        lp.a_matrix_.start_ = np.array([0, *np.cumsum(counts[present])], dtype=np.int32)
        lp.a_matrix_.index_ = np.array(number[self._indices[kept]], dtype=np.int32)
        lp.a_matrix_.value_ = self._values[kept]
        kinds = (highspy.HighsVarType.kContinuous, highspy.HighsVarType.kInteger)
        lp.integrality_ = [kinds[is_integer] for is_integer in self._integer[columns].tolist()]
        return lp


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
    relative_gap: float,
    seed: int,
    start: Sequence[float] | None,
    nodes: int | None,
    below: float | None,
    relaxed: Relaxation | None,
) -> Answer:
    highs = _load(program, integer=True)
    highs.setOptionValue("time_limit", max(time_limit_s, 0.01))
    highs.setOptionValue("mip_rel_gap", max(relative_gap, 1e-9))
    highs.setOptionValue("random_seed", seed)
    if program.step() is not None:
        highs.setOptionValue("mip_pscost_minreliable", STRONG_BRANCHINGS)
    if below is not None:
        highs.setOptionValue("objective_bound", below)
        highs.setOptionValue("mip_allow_restart", False)
        if relaxed is not None:
            for value, columns in enumerate(decided(program, relaxed, below)):
                fixed = np.full(len(columns), float(value))
                highs.changeColsBounds(len(columns), columns, fixed, fixed)
        if len(program.cost) >= INTERIOR_COLUMNS:
            highs.setOptionValue("mip_lp_solver", "ipm")
        highs.setOptionValue("mip_heuristic_effort", 0.0)
        for name in ROOT_HEURISTICS:
            highs.setOptionValue(f"mip_heuristic_run_{name}", False)
    elif start is not None:
        point = highspy.HighsSolution()
        point.col_value = list(start)
        highs.setSolution(point)
    if nodes is not None:
        highs.setOptionValue("mip_max_nodes", nodes)
    highs.run()
    answer = _read_highs(highs)
    return answer if below is None else _only_below(program, answer, below)


def _only_below(program: Program, answer: Answer, below: float) -> Answer:
    """What an answer says about points below a value.

    HiGHS may return others that it came across.
    """
    if answer.values is not None and float(np.dot(program.cost, answer.values)) < below:
        return answer
    exhausted = answer.proven or answer.infeasible
    bound = below if exhausted else None if answer.bound is None else min(answer.bound, below)
    return Answer(values=None, proven=False, infeasible=exhausted, bound=bound)


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
