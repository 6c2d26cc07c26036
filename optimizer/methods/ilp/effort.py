"""How the time of an integer program is used."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Effort:
    """Shares of time, limits of work, and gaps from which another way is taken.

    The benchmark `ONLY=optimizer make bench` shows what they come to.
    """

    search_share: float = 0.15
    """Part of the time limit that local search may use before the solver starts."""
    relax_share: float = 0.45
    """Part of the time limit that a component's relaxation may use."""
    refine_share: float = 0.6
    """Part of what is left after that which the first neighbourhoods may use."""
    first_share: float = 0.3
    """Part of all neighbourhoods that are tried before branching, which needs a good plan to start from."""
    mir_thresholds: tuple[float, ...] = (0.2, 0.5)
    """How much of an MIR the relaxation must keep for the guided greedy to begin with it."""
    split_share: float = 0.4
    """Part of the time limit that the program over splits may use."""
    split_work: float = 5e5
    """Nodes times nonzeros of the program over splits: 400 nodes for 30 five-way queries over 10 relations
    and 200 for 100 of them, which find what a minute finds."""
    guided_rounds: int = 2
    """Sweeps of local search on a guided plan: neighbourhoods gain more than further sweeps do."""
    nearly_closed: float = 0.005
    """Relative gap from which the solver closes faster than another guided plan would."""
    nearly_optimal: float = 0.002
    """Relative gap from which branching finds what is left, and neighbourhoods mostly nothing."""
    tied_gap: float = 0.01
    """Relative gap above which branching is not worth its time where costs are multiples of a step:
    it raised the bound by 0.2 % in 10 s of CPU (30 five-way queries over 10 relations)."""
    small_program: int = 20_000
    """Nonzeros up to which branching closes ties all the same."""
    branching_work: float = 1e7
    """Nodes times nonzeros of branch and bound for a second of the time limit."""
    branching_worth: float = 4.0
    """Times what the relaxation took that must be left after neighbourhoods for branching to be worth it."""
    rounds_per_second: float = 8.0
    """Rounds for a second of the time limit: a work limit that a quiet machine reaches first."""
