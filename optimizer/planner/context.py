"""The planning context, and the phases that solve one set of queries.

The context stays the same from set to set.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from optimizer.algebra.errors import Infeasible
from optimizer.formulate.base_stores import SeparateStores
from optimizer.formulate.model import Retain, Translation
from optimizer.formulate.problem import Subsumption, to_problem
from optimizer.formulate.source_load import source_load
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.lower.probe_forest import Forest
from optimizer.lower.store_layouts import Copies, grow_with_copies, kept_columns, largest_load
from optimizer.methods import METHODS
from optimizer.methods.heuristic.individual import Individual
from optimizer.methods.heuristic.reroute import rerouted
from optimizer.planner.separate_stores import all_separate
from optimizer.planner.separate_stores import separate as divide
from optimizer.search.problem import Cost, Options, Solution, Status
from optimizer.statistics import DefaultStatistics, LayeredStatistics, StatisticsProvider

COMPARED_QUERIES = 12
"""Of larger components in use, queries are not planned alone as well."""
_REROUTINGS = 3
"""Times that orders are routed anew around the copies that shared stores keep; each may change these."""


@dataclass(frozen=True, slots=True)
class PlanningContext:
    """Everything that stays the same while sets of queries are planned and compared."""

    catalog: Catalog
    known: StatisticsProvider
    method: str
    options: Options
    retain: Retain
    tasks: int
    horizon_s: float
    copies: Copies = field(default_factory=dict)
    """Of the plan in use: see `choose_store_copies`."""
    batch_s: float = 0.0
    """Seconds of event time that one batch spans; 0 if unknown."""
    texts: Mapping[str, str] = field(default_factory=dict)
    """SQL by query name, to be shown with the plan."""
    translated: dict[object, Translation] | None = field(default=None, compare=False, repr=False)
    """Problems of the planning under way, whose phases ask for the same ones again; None outside of it."""

    @property
    def with_defaults(self) -> StatisticsProvider:
        """What is known, with the documented guesses below it."""
        return LayeredStatistics((self.known, DefaultStatistics()))

    def translate(
        self,
        queries: Sequence[Query],
        subsumption: Subsumption | None = None,
        separate: SeparateStores | None = None,
    ) -> Translation:
        """The problem of answering the queries together."""
        sharing = frozenset((subsumption or {}).items()), frozenset((separate or {}).items())
        key = tuple(queries), sharing, self.options.task_tuples
        if self.translated is not None and key in self.translated:
            return self.translated[key]
        made = to_problem(
            queries,
            self.catalog,
            self.known,
            retain=self.retain,
            tasks=self.tasks,
            horizon_s=self.horizon_s,
            subsumption=subsumption,
            separate=separate,
            task_tuples=self.options.task_tuples,
        )
        if self.translated is not None:
            self.translated[key] = made
        return made

    def solve(
        self,
        queries: Sequence[Query],
        running: Solution | None = None,
        subsumption: Subsumption | None = None,
        *,
        stage: str | None = None,
    ) -> tuple[Forest, Solution]:
        """Run `SOLVING_PHASES`: queries translated, solved and grown into probe trees.

        Args:
            stage: the name of the phase to stop after; with another name or None all are run.

        Raises:
            optimizer.algebra.errors.Infeasible: the method found no plan within the limits.
        """
        answer = self.answer(queries, running, subsumption, stage=stage)
        return answer.forest, answer.solution

    def answer(
        self,
        queries: Sequence[Query],
        running: Solution | None = None,
        subsumption: Subsumption | None = None,
        separate: SeparateStores | None = None,
        *,
        stage: str | None = None,
    ) -> Answer:
        """As `solve`, with all that is known of the answer.

        Args:
            separate: filters with stores of their own in the plan in use.
            stage: see `solve`.
        """
        translation = self.translate(queries, subsumption, separate)
        nothing = Solution(self.method, Status.FEASIBLE, (), (), Cost(0.0, 0.0, 0.0), None, 0.0, 0.0)
        answer = Answer(
            self,
            queries,
            running,
            subsumption or {},
            separate or {},
            translation,
            nothing,
            Forest(translation),
            nothing,
        )
        for phase in SOLVING_PHASES:
            answer = phase(answer)
            if stage_name(phase) == stage:
                break
        return answer

    def admits(self, forest: Forest, solution: Solution) -> bool:
        """True if a solution keeps the storage budget, and its probe trees task capacity."""
        budget, capacity = self.options.storage_budget, self.options.task_capacity
        if budget is not None and sum(s.tuples for s in solution.stores) > budget * (1 + 1e-9):
            return False
        return capacity is None or largest_load(forest) <= capacity * (1 + 1e-9)


@dataclass(frozen=True, slots=True)
class Answer:
    """How some queries are answered, as far as the phases have come."""

    context: PlanningContext
    queries: Sequence[Query]
    running: Solution | None
    """The plan in use, as a warm start."""
    subsumption: Subsumption
    separate: SeparateStores
    translation: Translation
    proposed: Solution
    """What the method found, with what it has proven."""
    forest: Forest
    solution: Solution

    @property
    def cost(self) -> float:
        """What the answer costs, with reading and writing, which stores change too."""
        pricing = self.context.options.pricing
        return self.solution.cost.total + pricing.source(source_load(self.translation))


def solve(answer: Answer) -> Answer:
    """Solve the problem, in which every relation has stores of its own, by the method."""
    context = answer.context
    found = METHODS[context.method].solve(answer.translation.problem, context.options, answer.running)
    return replace(answer, proposed=found, solution=found)


def choose_store_copies(answer: Answer) -> Answer:
    """Choose the copies of shared stores for all of a stream's users together."""
    chosen = _with_copies(answer, answer.proposed)
    capacity = answer.context.options.task_capacity
    load = largest_load(chosen.forest) if capacity is not None else 0.0
    if capacity is not None and load > capacity * (1 + 1e-9):
        # Methods keep the capacity with the stores of their problem; these are those of the topology.
        raise Infeasible("task_capacity", capacity, load, answer.context.method)
    return chosen


def compare_with_greedy(answer: Answer) -> Answer:
    """Take the greedy plan where its shared copies make it cheaper.

    The program counted copies otherwise than they are shared.
    """
    context = answer.context
    if context.method != "ilp" or answer.solution is answer.proposed:
        return answer
    rival = replace(context, method="greedy", options=hasty(context.options))
    try:
        found = rival.answer(
            answer.queries, answer.running, answer.subsumption, answer.separate, stage=stage_name(reroute)
        ).solution
    except Infeasible:
        # Heuristics may miss a narrow budget or capacity that the program kept.
        return answer
    return _with_copies(answer, found) if _is_cheaper(found, answer.solution) else answer


def reroute(answer: Answer) -> Answer:
    """Route orders anew around the copies of shared stores while that is cheaper."""
    options = answer.context.options
    limited = options.task_capacity is not None or options.storage_budget is not None
    if limited or answer.context.method not in ("ilp", "greedy"):
        return answer
    for _ in range(_REROUTINGS):
        kept = kept_columns(answer.forest)
        found = rerouted(answer.translation.problem, options, answer.solution, kept) if kept else None
        if found is None:
            break
        other = _with_copies(answer, found)
        if not _is_cheaper(other.solution, answer.solution):
            break
        answer = other
    return answer


def separate_stores(answer: Answer) -> Answer:
    """Give filters of a stream stores of their own where that is cheaper.

    A division that is in use is left only for a gain above `Options.stay_discount`, since tuples move.
    """
    if not may_separate(answer.context):
        return answer
    stay = 1 - answer.context.options.stay_discount if answer.separate else 1.0
    for _ in range(_REROUTINGS):
        separate = divide(answer.forest, answer.context.options)
        if separate == answer.separate:
            break
        other = _divided(answer, separate, answer.solution)
        if other.cost >= answer.cost * stay * (1 - 1e-9):
            break
        answer, stay = other, 1.0
    return answer


def compare_with_alone(answer: Answer) -> Answer:
    """Take every query's own plan where all of these together are cheaper.

    They share what is equal, and stores where that saves something, so that queries never cost more
    together than each of them alone.
    """
    context = answer.context
    queries = sum(len(terms.variants) > 1 for terms in answer.translation.queries)
    if not _may_compare(context) or queries < 2:
        return answer
    if answer.running is not None and queries > COMPARED_QUERIES:
        # Every query again for each one that comes: planning from nothing does it.
        return answer
    separate = all_separate(answer.translation) if may_separate(context) else {}
    translation = context.translate(answer.queries, {}, separate)
    alone = Individual(METHODS[context.method]).solve(translation.problem, context.options)
    apart = replace(answer, subsumption={}, separate=separate, translation=translation)
    apart = separate_stores(_divided(apart, separate, alone))
    stay = 1.0 if answer.running is None else 1 - context.options.stay_discount
    return apart if apart.cost < answer.cost * stay * (1 - 1e-9) else answer


def _may_compare(context: PlanningContext) -> bool:
    """Whether nothing but cost decides."""
    options = context.options
    limited = options.task_capacity is not None or options.storage_budget is not None
    return options.cost == "cores" and not limited and context.method != Individual.name


def may_separate(context: PlanningContext) -> bool:
    """Whether stores of one stream may keep different tuples.

    By messages, one store for all is never dearer than several.
    """
    limited = context.options.task_capacity is not None or context.options.storage_budget is not None
    by_size = context.options.task_tuples is not None
    return context.options.cost == "cores" and context.retain == "needed" and not limited and not by_size


def _divided(answer: Answer, separate: SeparateStores, found: Solution) -> Answer:
    """The orders of a solution over stores divided so, routed anew around them."""
    context, options = answer.context, answer.context.options
    translation = context.translate(answer.queries, answer.subsumption, separate)
    # What the method proved is about other stores.
    proposed = replace(found, method=context.method, bound=None, status=Status.FEASIBLE)
    here = replace(answer, separate=separate, translation=translation, proposed=proposed)
    here = _with_copies(here, proposed)
    if context.method in ("ilp", "greedy"):
        other = rerouted(translation.problem, options, here.solution, kept_columns(here.forest))
        if other is not None:
            rival = _with_copies(here, other)
            here = rival if _is_cheaper(rival.solution, here.solution) else here
    return here


SOLVING_PHASES: tuple[Callable[[Answer], Answer], ...] = (
    solve,
    choose_store_copies,
    compare_with_greedy,
    reroute,
    separate_stores,
    compare_with_alone,
)
"""What is done with the queries of a component, in order."""


def stage_name(phase: Callable[..., object]) -> str:
    """The name that users give a phase.

    >>> stage_name(choose_store_copies)
    'choose-store-copies'
    """
    return phase.__name__.replace("_", "-")


def hasty(options: Options) -> Options:
    """The options of a quick trial beside a search."""
    return replace(options, time_limit_s=min(1.0, options.time_limit_s / 4))


def _with_copies(answer: Answer, found: Solution) -> Answer:
    """A solution's orders in an answer's place.

    What the method has proven comes with it, and copies are chosen.
    """
    there = answer.proposed
    if found is not there:
        there = replace(there, orders=found.orders, stores=found.stores)
    context = answer.context
    forest, solution = grow_with_copies(there, answer.translation, context.options, context.copies)
    return replace(answer, forest=forest, solution=solution)


def _is_cheaper(one: Solution, other: Solution) -> bool:
    return one.cost.total < other.cost.total * (1 - 1e-9)
