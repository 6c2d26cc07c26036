"""What steps and stored copies of a plan cost, by messages or by processor time.

Every method minimizes the sum of what a `Pricing` says of single steps and copies, so that all of them,
bounds, and the price of one more query speak of one and the same objective.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import expm1
from typing import NamedTuple, Protocol

from optimizer.search.coefficients import Coefficients
from optimizer.udf.pair_cost import TUPLE_US

CORES = 1e-6
"""Cores in a unit of `Processor`'s prices, which are microseconds per second: integer programs
lose small numbers to their tolerances."""
COMPACTED = 4 / 3
"""Tuples that a materialized result holds for one that is needed (`jobs.storage.partition`)."""


class StepLoad(NamedTuple):
    """What one step of one starting relation does, over all tasks of its store."""

    arriving: float
    """Tuples per second, before copies."""
    made: float
    """Tuples per second that leave."""
    equal: float
    """Share of all pairs whose keys are equal; 1 where nothing selects pairs."""
    evaluated: float
    """Evaluation of user functions, in probe tuples per second."""
    inserted: float
    """Tuples per second that come into the store."""
    held_s: float
    """Seconds for which the store has them, as far as the step's window reaches."""
    tasks: int
    checks: bool
    """Whether more than keys and windows is checked."""
    arriving_bytes: float
    """Of one tuple; so the next."""
    made_bytes: float


@dataclass(frozen=True, slots=True)
class CopyLoad:
    """What keeping one copy of a relation takes."""

    tuples: float
    """Held."""
    inserted: float
    """Tuples per second."""
    bytes: float
    """Of one tuple."""
    tasks: int
    is_base: bool
    share: float = 1.0
    """Of the copy: relations of one stream share its store."""


@dataclass(frozen=True, slots=True)
class SourceLoad:
    """What a topology does whatever its plan: read streams, write results."""

    streams: tuple[float, ...]
    """Tuples per second of each."""
    sources: tuple[float, ...]
    """Tuples per second that pass each filter of a stream."""
    read_bytes: float
    """Bytes per second."""
    results: float
    result_bytes: float
    leaves: tuple[float, ...]
    """Results per second of every query from each of its inputs."""


class Pricing(Protocol):
    """The objective, piece by piece, and the unit that people are told."""

    @property
    def unit(self) -> float:
        """What a unit of the objective is in the unit that people are told."""
        ...

    @property
    def batches(self) -> float:
        """What batches cost as such, whatever is in them."""
        ...

    @property
    def memory(self) -> float:
        """What a unit of memory costs."""
        ...

    def step(self, load: StepLoad) -> tuple[float, float]:
        """What a step costs whatever N, and what each task adds that tuples go to."""
        ...

    def copy(self, load: CopyLoad) -> tuple[float, float]:
        """What a copy of a store costs: work, and how much memory it takes."""
        ...

    def source(self, load: SourceLoad) -> float:
        """What every plan of the same queries costs."""
        ...

    @property
    def weights(self) -> tuple[float, float]:
        """About what one tuple more costs that is sent per second, or stored."""
        ...


@dataclass(frozen=True, slots=True)
class Messages:
    """The literature's cost: tuples sent per second, and weighted stored tuples."""

    probe_weight: float
    storage_weight: float
    unit: float = 1.0
    batches: float = 0.0

    def step(self, load: StepLoad) -> tuple[float, float]:
        """Tasks share out the evaluation of user functions; all receive tuples."""
        return self.probe_weight * load.evaluated, self.probe_weight * load.arriving

    @property
    def memory(self) -> float:
        """Of a tuple."""
        return self.storage_weight

    def copy(self, load: CopyLoad) -> tuple[float, float]:
        """Storing is no work."""
        return 0.0, load.tuples

    def source(self, load: SourceLoad) -> float:
        """Reading and writing is no work."""
        return 0.0

    @property
    def weights(self) -> tuple[float, float]:
        """As they are given."""
        return self.probe_weight, self.storage_weight


@dataclass(frozen=True, slots=True)
class Processor:
    """Processor time, and memory at a price, in millionths of a core."""

    coefficients: Coefficients
    batch_s: float
    """Seconds that one batch spans."""
    memory: float
    """Millionths of a core that a byte of state is worth."""
    unit: float = CORES

    @property
    def batches(self) -> float:
        """Work of batches as such, whatever is in them."""
        return self.coefficients.batch / self.batch_s

    def task_batches(self, rate: float, tasks: int) -> float:
        """Task-batches per second with something of so many tuples per second.

        >>> Processor(Coefficients(), 0.5, 0.0).task_batches(1e6, 2)
        4.0
        """
        return -tasks / self.batch_s * expm1(-rate * self.batch_s / tasks)

    def step(self, load: StepLoad) -> tuple[float, float]:
        """Work of a step; where all tasks are asked, more have something to do."""
        one = self._asked(load, load.arriving)
        pairs = load.arriving * load.inserted * (load.held_s + self.batch_s) * load.equal
        c = self.coefficients
        made = load.made * (c.made + c.made_byte * load.made_bytes)
        work = one + c.pair * pairs + made + TUPLE_US * load.evaluated
        if load.tasks == 1:
            return work - one, one
        further = (self._asked(load, load.arriving * load.tasks) - one) / (load.tasks - 1)
        return work - further, further

    def _asked(self, load: StepLoad, received: float) -> float:
        """What depends on how many tuples the tasks receive together."""
        c, active = self.coefficients, self.task_batches(received, load.tasks)
        reached = load.inserted * (load.held_s + self.batch_s) / load.tasks
        tuples = received * (c.arriving + c.arriving_byte * load.arriving_bytes)
        return active * (c.step + c.check * load.checks + c.looked * reached) + tuples

    def copy(self, load: CopyLoad) -> tuple[float, float]:
        """Work of storing, and the bytes that are held."""
        c, active = self.coefficients, self.task_batches(load.inserted / load.share, load.tasks)
        run, each = (0.0, c.insert) if load.is_base else (c.keep_run, c.keep)
        tuples = load.inserted * (each + c.insert_byte * load.bytes)
        fixed = load.share * (c.store + run) * active
        held = load.tuples * (1.0 if load.is_base else COMPACTED)
        return fixed + tuples, held * load.bytes

    def source(self, load: SourceLoad) -> float:
        """Work of reading and of writing results, not of a batch as such."""
        c = self.coefficients
        read = c.read * sum(load.streams) + c.read_byte * load.read_bytes
        read += c.stream * sum(self.task_batches(rate, 1) for rate in load.streams)
        read += c.source * sum(self.task_batches(rate, 1) for rate in load.sources)
        written = c.result * load.results + c.result_byte * load.result_bytes
        return read + written + c.leaf * sum(self.task_batches(rate, 1) for rate in load.leaves)

    @property
    def weights(self) -> tuple[float, float]:
        """Of tuples of a few columns."""
        c = self.coefficients
        return c.arriving + c.arriving_byte * _FEW_BYTES, self.memory * _FEW_BYTES


_FEW_BYTES = 64.0
