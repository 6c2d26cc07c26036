"""One small case: a workload, two ways of answering it, and what is wrong with the answers."""

from __future__ import annotations

import traceback
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from jobs.storage.disk import Disk, using
from jobs.storage.partition import state_root
from optimizer.algebra.errors import InputError
from optimizer.algebra.types import ColumnType
from optimizer.physical.graph import PhysicalGraph
from tests.oracle.small.as_of import AS_OF
from tests.oracle.small.execution import Answered, Setup, answer, draw_setups, parsed, planned
from tests.oracle.small.generate import dealt_again, generate
from tests.oracle.small.grammar import dice, reading
from tests.oracle.small.joined import around
from tests.oracle.small.judging import Bag, NoAnswer, Reference, bag, difference
from tests.oracle.small.partitioned import parted, partitions
from tests.oracle.small.workload import SmallWorkload

REFUSED = frozenset({"bad-constant", "never-true", "unconnected", "no-deadline", "unsupported"})
"""What a query may be refused for: constants without a value, conditions that come to be constants, outer
joins without an end to their wait, and those of sides that have outer joins themselves."""
DEALS = 4
"""Cases of a seed."""
Graphs = dict[tuple[object, ...], PhysicalGraph]
_FAST = Path("/dev/shm")
"""Where there is nothing to flush to."""


class _Memory(Disk):
    """Files in memory: all of them must be there to be flushed, and none need be."""

    def flush(self, paths: Iterable[Path]) -> None:
        for path in paths:
            path.stat()


@dataclass(frozen=True, slots=True)
class Case:
    seed: int
    workload: SmallWorkload
    setups: tuple[Setup, ...]

    def describe(self) -> str:
        return "\n".join(
            [f"seed {self.seed}", self.workload.describe(), *(s.describe() for s in self.setups)]
        )


@dataclass(frozen=True, slots=True)
class Failure:
    kind: str
    """What must stay the same while a case is made smaller."""
    told: str


@dataclass(frozen=True, slots=True)
class Compared:
    runs: int
    results: int


def case_of(seed: int, plain: bool = False) -> Case:
    """The case of a seed; `plain` as for `generate`."""
    workload = generate(seed, plain)
    chance = dice(f"setup {seed}", plain)
    query = workload.queries[0]
    # Groups of parts are none of the whole.
    if chance.random() < 0.15 and query.grouped is None and query.also is None:
        # What is read of an as-of join's partner says which of several is taken.
        able = [i.alias for i in around(query) if i.joined not in AS_OF]
        condition = reading(chance, ColumnType.BOOLEAN, [chance.choice(able)], 2)
        workload = replace(workload, queries=(*parted(query, condition), *workload.queries[1:]))
    return Case(seed, workload, draw_setups(chance, len(workload.arrivals)))


def cases_of(seed: int, plain: bool = False) -> Iterator[Case]:
    """The case of a seed, and the same queries and plans over other tuples, in other batches."""
    case = case_of(seed, plain)
    yield case
    for number in range(1, DEALS):
        workload = dealt_again(case.workload, f"deal {number} of {seed}", plain)
        drawn = draw_setups(dice(f"setup {number} of {seed}", plain), len(workload.arrivals))
        setups = (one.planned_as(other) for one, other in zip(drawn, case.setups, strict=True))
        yield replace(case, workload=workload, setups=tuple(setups))


def usable(case: Case) -> bool:
    """False if one of the queries is refused, for a reason for which it may be."""
    try:
        parsed(case.workload.queries, case.workload.catalog)
    except InputError as error:
        return error.code not in REFUSED
    return True


def judge(case: Case, graphs: Graphs | None = None) -> Failure | Compared:
    """Answer the workload in every one of the ways and compare with DuckDB.

    Args:
        graphs: plans of the workload's queries that were made before; those that are made are put there.
    """
    results = runs = 0
    graphs = {} if graphs is None else graphs
    reference = Reference()
    for setup in case.setups:
        fast = _FAST.is_dir()
        with TemporaryDirectory(dir=_FAST if fast else None) as folder, using(_Memory() if fast else Disk()):
            try:
                if setup.plan not in graphs:
                    graphs[setup.plan] = planned(case.workload, setup)
                answered = answer(case.workload, graphs[setup.plan], setup, Path(folder))
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # Polars' panics are no Exception
                return _raised(error)
            finally:
                state_root.cache_clear()
        try:
            wrong = compare(case.workload, answered, reference)
        except NoAnswer as error:
            return Failure("reference", str(error))
        if wrong is not None:
            return wrong
        runs += 1
        results += sum(frame.height for frame in answered.answers.values())
    return Compared(runs, results)


def compare(workload: SmallWorkload, answered: Answered, reference: Reference) -> Failure | None:
    """What differs from DuckDB, or between a query and its parts."""
    found: dict[str, Bag] = {}
    by_name = {query.name: query for query in workload.queries}
    for number, (accepted, tables) in enumerate(answered.commits):
        reference.load(accepted)
        for name, frame in tables.items():
            differs = difference(by_name[name], reference.answer(by_name[name]), frame)
            if differs is not None:
                return Failure("difference", f"at commit {number} {differs}")
    reference.load(answered.accepted)
    for query in workload.queries:
        frame = answered.answers[query.name]
        differs = difference(query, reference.answer(query), frame)
        if differs is not None:
            return Failure("difference", differs)
        found[query.name] = bag(frame)
    for name, parts in partitions(query.name for query in workload.queries).items():
        together = sum((found[part] for part in parts), Bag())
        if together != found[name]:
            return Failure(
                "partition", f"{name} has {found[name].total()} results, its parts {together.total()}"
            )
    return None


def _raised(error: BaseException) -> Failure:
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "/jobs/" in f.filename or "/optimizer/" in f.filename
    ]
    place = f"{Path(frames[-1].filename).name}:{frames[-1].name}" if frames else "outside"
    first = str(error).splitlines()[0][:300] if str(error) else ""
    return Failure(f"{type(error).__name__} in {place}", f"{type(error).__name__} in {place}: {first}")
