"""Products with one defect each, and within how many seeds the simulation finds each of them.

A defect is of a kind that somebody may put into the product again. It is planted by name, at the product's
seam, in the process that simulates.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partialmethod
from pathlib import Path
from typing import Any
from unittest.mock import patch

import polars as pl

import jobs.driver.background_compaction as background
import jobs.driver.batch_protocol as protocol
import jobs.reconfigure.switch as switching
import jobs.recovery.checkpoint as checkpoints
import jobs.recovery.manifest as manifests
import jobs.sinks.outbox as outboxes
import jobs.storage.partition as partitions
import jobs.worker.ingest as ingesting
import jobs.worker.task as tasks
from jobs.driver import attempts, watermarks
from jobs.driver.batch_protocol import BatchProtocol
from jobs.expressions import IMPLEMENTATIONS, compile_expression
from jobs.reconfigure.switch import Switched
from jobs.recovery import lock
from jobs.recovery.checkpoint import Checkpoint
from jobs.recovery.manifest import Manifest
from jobs.sinks import parquet, redis_tail
from jobs.sinks.outbox import Outbox
from jobs.sinks.publisher import Lane
from jobs.storage.disk import Disk, delete_if_there, disk, make_durable
from jobs.storage.partition import PartitionState, state_root
from jobs.storage.run import StateRoot
from jobs.worker.holding import Waiting
from tests.simulation.campaign import Failed, Simulator
from tests.simulation.schedule import Schedule, schedule_of

Plant = Callable[[ExitStack], None]


@dataclass(frozen=True, slots=True)
class Defect:
    name: str
    about: str
    plant: Plant


def _put(place: Any, name: str, value: Any) -> Plant:
    """Put something in the place of what a module, a class or a mapping has."""

    def plant(stack: ExitStack) -> None:
        if isinstance(place, dict):
            stack.enter_context(patch.dict(place, {name: value}))
        else:
            stack.enter_context(patch.object(place, name, value))

    return plant


def _nothing(*_: Any, **__: Any) -> tuple[()]:
    return ()


class _Unflushed(Disk):
    """The disk in use, without flushing what is chosen."""

    def __init__(self, skips: Callable[[Path], bool]) -> None:
        self._skips = skips

    def __getattribute__(self, name: str) -> Any:
        if name in ("flush", "_skips"):
            return object.__getattribute__(self, name)
        return getattr(disk(), name)

    def flush(self, paths: Iterable[Path]) -> None:
        disk().flush([path for path in paths if not self._skips(path)])


def _without_flush(module: Any, skips: Callable[[Path], bool]) -> Plant:
    return _put(module, "disk", lambda: _Unflushed(skips))


# Commits


def _written_in_place(path: Path, content: bytes) -> None:
    with disk().create(path) as file:
        file.write(content)
    disk().flush([path, path.parent])


def _commit(order: Sequence[str]) -> Plant:
    """A commit whose steps come in another order, or not at all."""

    def commit(self: BatchProtocol, manifest: Manifest, base: Switched | None) -> None:
        root, output = state_root(self._checkpoint.state), self._settings.output
        known = {run.path for run in self.last.runs} if self.last is not None else set()
        assert output is not None
        before = self.last.files if self.last is not None else ()
        for step in order:
            if step == "flush runs":
                root.make_durable(run for run in manifest.runs if run.path not in known)
            elif step == "flush results":
                shown = {output / file.path for file in before if (output / file.path).parent.exists()}
                hidden = {parquet.hidden_path(output, file) for file in manifest.files}
                make_durable((path for path in hidden if path.exists()), output, shown)
            elif step == "write":
                self._checkpoint.commits.write(manifest)
                self.last = manifest
            elif step == "show":
                parquet.show(output, manifest.files)
            elif step == "delete":
                root.delete(manifest.removed)
                if base is not None:
                    delete_if_there(Path(base.path))
                    root.remove_empty_folders()
        if self._attempts.given_up:
            self._sweep(manifest)

    return _put(BatchProtocol, "_commit", commit)


def _always_committed_again(self: BatchProtocol, batch: int) -> bool:
    return False


def _names_unflushed(files: Iterable[Path], base: Path, renamed: Iterable[Path] = ()) -> None:
    make_durable(files, base)


def _both(*plants: Plant) -> Plant:
    def plant(stack: ExitStack) -> None:
        for one in plants:
            one(stack)

    return plant


def _only_made(path: Path) -> None:
    disk().make_folder(path)


_SHOW = parquet.show


def _shown_all(output: Path, files: Iterable[Any], *, taken: bool = False) -> None:
    _SHOW(output, files)


# Recovery, switches, holds


def _with_interim_manifests(self: Checkpoint) -> None:
    for path in sorted(self.root.glob("*/*.unfinished")):
        delete_if_there(path)


def _half_placed(predecessors: Sequence[Any], *given: Any) -> Any:
    first, *others = predecessors
    return _PLACED([replace(first, runs=tuple(first.runs)[:-1]), *others], *given)


_PLACED = switching._placed_anew
_SWITCH = switching.switch


def _deletes_at_once(checkpoint: Checkpoint, before: Manifest, *given: Any) -> Switched:
    done = _SWITCH(checkpoint, before, *given)
    state_root(checkpoint.state).delete(done.removed)
    return done


def _forgets_columns(*given: Any, **named: Any) -> bool:
    return True


_WAITING = tasks.BatchContext.waiting


def _due_again(self: tasks.BatchContext) -> Waiting:
    return replace(_WAITING.fget(self), passed_us=None)  # type: ignore[attr-defined]


def _certain(*_: Any) -> dict[str, int]:
    return {}


# Eviction and merging

_OLDEST = partitions._oldest


def _sooner(by_us: int) -> Callable[..., tuple[int, ...]]:
    return lambda store, mark: tuple(one + by_us if one > 0 else one for one in _OLDEST(store, mark))


_MERGE = PartitionState.merge


def _merges_all_but_one(self: PartitionState, group: Any, *given: Any) -> Any:
    done = _MERGE(self, group[1:] if len(group) > 1 else group, *given)
    return replace(done, dropped=tuple(group))


_ADOPTED = background.Merging.adopted


def _adopts_whatever(self: background.Merging, gathered: Any, previous: Manifest | None) -> Any:
    if previous is not None:
        self._change = previous.change
    return _ADOPTED(self, replace(gathered, dropped=()), previous)


# Tuples

_CHECKED = ingesting._checked


def _never_late(*given: Any) -> Any:
    *others, _, latest_us = given
    return _CHECKED(*others, None, latest_us)


_ASSIGN = attempts.assign


def _assigned_twice(descriptors: Any, count: int) -> Any:
    first, *others = _ASSIGN(descriptors, count)
    return ((*first, *first[:1]), *others)


_SORTED = tasks.sort_rows


def _without_the_last(rows: Iterable[Any], *given: Any) -> Any:
    found = _SORTED(rows, *given)
    return replace(found, messages=found.messages[:-1] if len(found.messages) > 2 else found.messages)


def _newest_wins(one: int | None, other: int | None) -> int | None:
    return other


# Sinks


def _publishes_again(self: Lane) -> None:
    for batch in self._outbox.batches():
        self._sink.publish(self._outbox.results(batch))
        self._outbox.has(self._name, batch)


def _forgets_first(self: Lane) -> None:
    published = self._sink.connect()
    for batch in self._outbox.batches():
        self._outbox.has(self._name, batch)
        if batch > published:
            self._sink.publish(self._outbox.results(batch))


def _has_somewhere(self: Outbox) -> int:
    return max(-1 if had is None else had for had in self._had.values())


def _adds_unflushed(path: Path, content: bytes) -> None:
    with disk().create(path) as file:
        file.write(content)


def _not_equal(_: Any, arguments: Sequence[pl.Expr]) -> pl.Expr:
    return arguments[0].ne_missing(arguments[1])


_ORDER = ("flush runs", "flush results", "write", "show", "delete")
DEFECTS = (
    Defect("runs are not flushed", "commit", _put(StateRoot, "make_durable", _nothing)),
    Defect("results are not flushed", "commit", _commit(("flush runs", "write", "show", "delete"))),
    Defect("the manifest is written first", "commit", _commit(("write", *_ORDER[:2], "show", "delete"))),
    Defect(
        "results are shown before the manifest",
        "commit",
        _commit(("flush runs", "flush results", "show", "write", "delete")),
    ),
    Defect(
        "runs are deleted before the manifest",
        "commit",
        _commit(("flush runs", "flush results", "delete", "write", "show")),
    ),
    Defect("results are not shown", "commit", _commit(("flush runs", "flush results", "write", "delete"))),
    Defect("runs are not deleted", "commit", _commit(("flush runs", "flush results", "write", "show"))),
    Defect(
        "the manifest's content is not flushed",
        "commit",
        _without_flush(manifests, lambda path: path.suffix == ".unfinished"),
    ),
    Defect(
        "the manifest's name is not flushed",
        "commit",
        _without_flush(manifests, lambda path: path.name == "commits"),
    ),
    Defect("manifests are written in place", "commit", _put(manifests, "write_durably", _written_in_place)),
    Defect("final names are not flushed", "commit", _put(protocol, "make_durable", _names_unflushed)),
    Defect("empty files are not flushed", "commit", _without_flush(parquet, lambda path: True)),
    Defect("what attempts left is not swept", "commit", _put(BatchProtocol, "_sweep", _nothing)),
    Defect(
        "folders' names are not flushed",
        "recovery",
        _both(*(_put(one, "make_folder_durable", _only_made) for one in (checkpoints, protocol, outboxes))),
    ),
    Defect(
        "a start does not flush what it reads", "recovery", _without_flush(checkpoints, lambda path: True)
    ),
    Defect("a start does not show results", "recovery", _put(protocol, "show", _nothing)),
    Defect("what a sink had is missed at a start", "recovery", _put(protocol, "show", _shown_all)),
    Defect("a start leaves hidden files", "recovery", _put(protocol, "remove_hidden", _nothing)),
    Defect("a start leaves runs", "recovery", _put(StateRoot, "delete_others", _nothing)),
    Defect(
        "a start leaves interim manifests",
        "recovery",
        _put(Checkpoint, "remove_unfinished", _with_interim_manifests),
    ),
    Defect(
        "a committed batch is worked on again",
        "recovery",
        _put(BatchProtocol, "is_committed", _always_committed_again),
    ),
    Defect("the lock is not held", "recovery", _put(lock.fcntl, "flock", _nothing)),
    Defect("a switch leaves a run behind", "switch", _put(switching, "_placed_anew", _half_placed)),
    Defect("a switch deletes at once", "switch", _put(attempts, "switch", _deletes_at_once)),
    Defect("results that are stored are not backfilled", "switch", _put(switching, "rebuild", lambda *_: {})),
    Defect("a store lacks columns and nobody looks", "switch", _put(switching, "_serves", _forgets_columns)),
    Defect("a store is said to hold everything", "switch", _put(switching, "_unseen_from", lambda *_: None)),
    Defect(
        "a retention that grows is said to reach back",
        "switch",
        _put(switching, "_kept_from", lambda *_: None),
    ),
    Defect("layouts are forgotten", "switch", _put(attempts, "layouts_of", lambda *_: {})),
    Defect("what was due is due again", "hold", _put(tasks.BatchContext, "waiting", property(_due_again))),
    Defect("lateness is not waited for", "hold", _put(watermarks, "earlier", lambda seen, _: seen)),
    Defect("what is not known is certain", "hold", _put(attempts, "certain_from", _certain)),
    Defect("eviction a microsecond early", "eviction", _put(partitions, "_oldest", _sooner(1))),
    Defect("eviction a second early", "eviction", _put(partitions, "_oldest", _sooner(1_000_000))),
    Defect("merging loses a run", "eviction", _put(PartitionState, "merge", _merges_all_but_one)),
    Defect(
        "merged runs are adopted unseen", "eviction", _put(background.Merging, "adopted", _adopts_whatever)
    ),
    Defect("the watermark goes back", "eviction", _put(watermarks, "newest", _newest_wins)),
    Defect("late tuples are accepted", "dedupe", _put(ingesting, "_checked", _never_late)),
    Defect("a range is read twice", "dedupe", _put(attempts, "assign", _assigned_twice)),
    Defect("a message is dropped", "dedupe", _put(tasks, "sort_rows", _without_the_last)),
    Defect("attempts share their names", "dedupe", _put(partitions, "new_attempt", lambda: "5eb6d3a2f001")),
    Defect("a comparison with its bound", "expressions", _put(IMPLEMENTATIONS, "lt", IMPLEMENTATIONS["le"])),
    Defect(
        "a sum that is a difference", "expressions", _put(IMPLEMENTATIONS, "subtract", IMPLEMENTATIONS["add"])
    ),
    Defect("NULL differs from values", "expressions", _put(IMPLEMENTATIONS, "ne", _not_equal)),
    Defect(
        "keys of NULL join",
        "expressions",
        _put(pl.LazyFrame, "join", partialmethod(pl.LazyFrame.join, nulls_equal=True)),
    ),
    Defect(
        "Redis is appended to again",
        "sinks",
        _put(
            redis_tail,
            "_APPEND",
            "\n".join(line for line in redis_tail._APPEND.splitlines() if "return 0" not in line),
        ),
    ),
    Defect("a batch is published again", "sinks", _put(Lane, "publish_waiting", _publishes_again)),
    Defect(
        "a batch is forgotten before it is published",
        "sinks",
        _put(Lane, "publish_waiting", _forgets_first),
    ),
    Defect("a batch is forgotten once one sink has it", "sinks", _put(Outbox, "_everywhere", _has_somewhere)),
    Defect(
        "what is to be published is not flushed", "sinks", _put(outboxes, "write_durably", _adds_unflushed)
    ),
)


@contextmanager
def planted(defect: Defect) -> Iterator[None]:
    """A block in which the product has a defect."""
    _forget_compiled()
    with ExitStack() as stack:
        defect.plant(stack)
        yield
    _forget_compiled()


def _forget_compiled() -> None:
    compile_expression.cache_clear()
    tasks.load_graph.cache_clear()
    tasks.graph_of.cache_clear()


@dataclass(frozen=True, slots=True)
class Found:
    """Of a defect, with which seed it was found."""

    seeds: int | None
    """How many were tried, from the first one on; None if none of them found it."""
    told: str
    small: Schedule | None = None
    """The schedule that found it, made small, if asked for."""


def search(
    simulation: Simulator, defect: Defect, seeds: Sequence[int], patience_s: float | None = None
) -> Found:
    """Try seeds until one fails with the defect.

    Args:
        simulation: carries them out.
        defect: is planted meanwhile.
        seeds: to try.
        patience_s: processor time for making what fails small; None not to.
    """
    with planted(defect):
        for tried, seed in enumerate(seeds, 1):
            schedule = schedule_of(seed)
            outcome = simulation.outcome(schedule)
            if isinstance(outcome, Failed):
                small = None if patience_s is None else simulation.shrunk(schedule, outcome, patience_s)
                return Found(tried, outcome.told, small)
    return Found(None, "")
