"""Many seeds, one after the other: what failed, made small; how often each fault and each step was met."""

from __future__ import annotations

import contextlib
import gc
import io
import json
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from tests.simulation.disk import Killed
from tests.simulation.judging import Judge
from tests.simulation.network import Network, server
from tests.simulation.schedule import SCHEDULE, Schedule, schedule_of
from tests.simulation.shrinking import shrink
from tests.simulation.world import Outcome, simulate

_FAST = Path("/dev/shm")
_PROGRESS_S = 60.0


@dataclass(frozen=True, slots=True)
class Failed:
    """How a schedule failed."""

    kind: str
    """What stays the same while it is made smaller."""
    told: str


class Simulator:
    """Carries out schedules, one after the other; `simulator` gives one."""

    def __init__(self, network: Network, folder: Path) -> None:
        self._network = network
        self._folder = folder
        self._judge = Judge()

    def outcome(self, schedule: Schedule) -> Outcome | Failed:
        """What came of a schedule."""
        try:
            # A control message that cannot be carried out leaves its traceback in the job's log.
            with contextlib.redirect_stderr(io.StringIO()):
                return simulate(schedule, self._folder / "world", self._network, self._judge)
        except KeyboardInterrupt as error:
            if not isinstance(error, Killed):
                raise
            return _failed(error)
        except BaseException as error:  # Polars' panics are no Exception
            return _failed(error)

    def shrunk(self, schedule: Schedule, failed: Failed, patience_s: float) -> Schedule:
        """The schedule made small, as long as it fails alike."""

        def alike(other: Schedule) -> bool:
            found = self.outcome(other)
            return isinstance(found, Failed) and found.kind == failed.kind

        return shrink(schedule, alike, patience_s)


@contextmanager
def simulator() -> Iterator[Simulator]:
    """What schedules need that outlives them: a Redis server, a folder in memory, DuckDB."""
    place = _FAST if _FAST.is_dir() else None
    with server() as network, tempfile.TemporaryDirectory(prefix="simulation-", dir=place) as folder:
        yield Simulator(network, Path(folder))


def _failed(error: BaseException) -> Failed:
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if "/site-packages/" not in frame.filename
    ]
    own = [frame for frame in frames if "/jobs/" in frame.filename] or frames
    place = f"{Path(own[-1].filename).name}:{own[-1].name}"
    first = (str(error).splitlines() or [""])[0]
    words = first.split(",")[0].split(":")[0][:40]
    return Failed(
        f"{type(error).__name__} in {place}: {words}", f"{type(error).__name__} in {place}: {first[:400]}"
    )


@dataclass(slots=True)
class Totals:
    """Of many schedules."""

    schedules: int = 0
    batches: int = 0
    results: int = 0
    processes: int = 0
    seconds: float = 0.0
    """Of processor time."""
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        self.schedules += 1
        self.batches += outcome.batches
        self.results += outcome.results
        self.processes += outcome.processes
        self.counts += outcome.counts

    def line(self) -> str:
        return (
            f"{self.schedules} schedules, {self.batches} batches, {self.results} results, "
            f"{self.processes} processes, {self.seconds:.0f} s of processor time"
        )

    def save(self, path: Path) -> None:
        document = {name: getattr(self, name) for name in self.__slots__}
        path.write_text(json.dumps(document, indent=1, sort_keys=True) + "\n")

    def since(self, path: Path) -> Totals:
        """These and what a file has of earlier ones."""
        if not path.exists():
            return self
        before = Totals.read(path)
        figures = {n: getattr(self, n) + getattr(before, n) for n in self.__slots__}
        return Totals(**figures)

    @staticmethod
    def read(path: Path) -> Totals:
        document = json.loads(path.read_text())
        return Totals(**{**document, "counts": Counter(document["counts"])})


def run(
    seeds: Iterable[int], totals: Totals, fixtures: Path | None, patience_s: float, keep_going: bool
) -> dict[str, int]:
    """Carry out schedules; how often each kind of failure was met.

    Args:
        seeds: of the schedules.
        totals: what is added to.
        fixtures: where the small form of what fails is written.
        patience_s: processor time for making one small.
        keep_going: go on behind a failure; one of each kind is made small.
    """
    gc.set_threshold(100_000, 50, 100)  # Expressions and plans are trees, without circles.
    kinds: Counter[str] = Counter()
    shown = time.monotonic()
    began = time.process_time() - totals.seconds
    with simulator() as simulation:
        for seed in seeds:
            schedule = schedule_of(seed)
            found = simulation.outcome(schedule)
            totals.seconds = time.process_time() - began
            if isinstance(found, Outcome):
                totals.add(found)
            else:
                kinds[found.kind] += 1
                if kinds[found.kind] == 1:
                    _say(f"seed {seed}: {found.told}")
                    small = simulation.shrunk(schedule, found, patience_s)
                    _say(f"{small.describe()}\nagain: python -m tests.simulation --seed {seed}\n")
                    if fixtures is not None:
                        fixtures.mkdir(parents=True, exist_ok=True)
                        (fixtures / f"seed-{seed}.json").write_bytes(
                            SCHEDULE.dump_json(small, indent=1) + b"\n"
                        )
                if not keep_going:
                    break
            if time.monotonic() - shown > _PROGRESS_S:
                shown = time.monotonic()
                _say(f"seed {seed}: {totals.line()}; {_told(kinds)}")
    _say(f"{totals.line()}; {_told(kinds)}")
    return dict(kinds)


def _told(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind}: {count}" for kind, count in kinds.most_common()) or "no failure"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()
