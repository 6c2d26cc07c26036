"""A replay without Spark: batches whose counts are what the plan in use would count."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from jobs.adaptation.controller import Controller, Policy
from jobs.adaptation.schedule import Schedule
from jobs.recovery.batch_history import BatchLine
from jobs.recovery.checkpoint import Checkpoint, Identity
from jobs.recovery.manifest import BatchCounts, BatchFigures, Manifest
from optimizer.adaptation import LearntStatistics, learn, with_tasks
from optimizer.estimate import estimate
from optimizer.statistics import FixedStatistics
from optimizer.statistics.workload import SelectivityEstimate
from optimizer.workload import Workload
from tests.unit.planning import clash

EPOCH = 2
SECONDS = 50
"""Event time of a batch."""
BATCHES = 14
JUMP = 4
"""The first batch with other data, which begins epoch 2."""
R_S, S_T = clash.queries()[0].join_predicates()
RATES = dict.fromkeys("rstu", 100.0)
WORKLOAD = Workload(
    with_tasks(clash.CATALOG, dict.fromkeys("rstu", 2)),
    clash.queries(),
    (SelectivityEstimate(R_S, 0.005), SelectivityEstimate(S_T, 0.0075)),
    (("q1", clash.Q1), ("q2", clash.Q2)),
)


def world(r_s: float, s_t: float) -> LearntStatistics:
    """Streams of 100 tuples/s with these selectivities."""
    return learn(clash.queries(), FixedStatistics(RATES, {R_S: r_s, S_T: s_t}))


BEFORE, AFTER = world(0.005, 0.0075), world(0.00001, 0.5)


def policy(schedule: Schedule | None = None, adaptive: bool = True, forced: bool = False) -> Policy:
    chosen = schedule or Schedule.always(("q1", "q2"))
    return Policy("ilp", 2, EPOCH, adaptive, forced, chosen, bool(chosen.batches), batch_rows=400)


@dataclass
class Replay:
    """Batches whose counts are what the plan in use would count under the data of the moment.

    With a `seed` they are drawn around that, each times a factor whose logarithm has `uneven` as its standard
    deviation.
    """

    root: Path
    policy: Policy
    workload: Workload = WORKLOAD
    world: Callable[[int], LearntStatistics] = lambda batch: AFTER if batch >= JUMP else BEFORE
    seed: int | None = None
    uneven: float = 0.0
    lines: list[BatchLine] = field(default_factory=list)
    last: Manifest | None = None

    def __post_init__(self) -> None:
        self.checkpoint = Checkpoint(self.root, Identity("replay", "test", self.policy.tasks))
        self.controller = Controller(self.checkpoint, self.workload, self.policy)
        if not self.controller.begun:
            self.controller.first_plan()
        self.controller.resume(self.last, self.lines)

    def run(self, until: int) -> Replay:
        for batch in range(len(self.lines), until):
            self.controller.prepare(batch)
            plan = self.checkpoint.change_at(batch).plan
            graph = self.checkpoint.graph(plan)
            expected = estimate(graph, self.world(batch))
            chance = None if self.seed is None else Random(f"{self.seed} {batch}")
            rules = {rule: self._counted(rate, chance) for rule, rate in expected.rules.items()}
            counts = BatchCounts(
                accepted={s.name: self._counted(100, chance) for s in graph.streams},
                edges={edge.id: rules[edge.origin] for edge in graph.edges},
                rules=rules,
                held={store: round(tuples) for store, tuples in expected.stores.items()},
                oldest_us=batch * SECONDS * 1_000_000,
                newest_us=(batch + 1) * SECONDS * 1_000_000,
            )
            figures = BatchFigures(sum(counts.accepted.values()), {}, {}, 0, (), counts)
            epoch = batch // EPOCH
            self.lines.append(BatchLine(batch, 0, epoch, plan, batch, batch + 1, figures))
            self.last = Manifest(batch, plan, epoch, (), {}, {}, {}, (), None, 0, figures, ())
            self.controller.committed(self.last, self.lines)
        return self

    def _counted(self, rate: float, chance: Random | None) -> int:
        mean = rate * SECONDS
        if chance is None:
            return round(mean)
        mean *= chance.lognormvariate(0.0, self.uneven)
        return max(0, round(chance.gauss(mean, mean**0.5)))

    def killed(self) -> Replay:
        """A new process on the same checkpoint, with what was committed."""
        self.controller.close()
        return replace(self)

    @property
    def switches(self) -> list[int]:
        """The epochs in which another plan took over by what was learnt."""
        found = [d for d in self.controller.decisions.all if d.kind == "statistics" and d.plan]
        return [decision.batch // EPOCH for decision in found if decision.batch < len(self.lines)]

    @property
    def plans(self) -> list[str]:
        return [line.plan for line in self.lines]
