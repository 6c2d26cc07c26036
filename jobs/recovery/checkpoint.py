"""The directory from which a topology goes on after a crash.

    checkpoint.json      what this is and whose, written once
    plans/ID.json        physical graphs, by the digest of their bytes
    changes/N.json       the N-th plan change: which plan, why
    active.json          the newest change and the streams that it reads, for the source's planner
    source.json          what the source reads
    planned/             descriptors of the batches at hand
    commits/             commit manifests
    state/               runs
    spark/               Spark's own offset and commit logs

A checkpoint is bound to its version and to what it was made for, a replay's to its number of partitions too;
anything else is refused, because state that is laid out differently would be read wrongly.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
import uuid
from collections.abc import Collection
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pydantic import TypeAdapter, ValidationError

from jobs.plan.index import index_of
from jobs.recovery.active import ACTIVE, Active
from jobs.recovery.lock import hold
from jobs.recovery.manifest import CHECKPOINT_VERSION, CommitLog, write_durably
from jobs.storage.disk import delete_if_there, disk, make_folder_durable
from jobs.storage.partition import state_root
from jobs.storage.remote import Shelf, below, claim
from optimizer.algebra.errors import InputError, Place
from optimizer.physical.graph import PhysicalGraph


@dataclass(frozen=True, slots=True)
class Identity:
    """What a checkpoint belongs to.

    Two runs may share it iff all but `id` is equal, and a topology's number of partitions, which only grows.
    """

    kind: Literal["replay", "run"]
    subject: str
    """A digest of the workload and its options, or the topology's name."""
    partitions: int
    id: str = ""
    """Random; tells this checkpoint's batches from those of another one."""
    version: int = CHECKPOINT_VERSION


@dataclass(frozen=True, slots=True)
class Change:
    """A plan change, numbered from 0 (the first plan)."""

    number: int
    plan: str
    """The id under which the checkpoint keeps the graph."""
    plan_id: str
    """The id by which the control plane knows it."""
    streams: tuple[str, ...]
    cause: str
    from_batch: int = 0
    """Where batches are known in advance, the first one under this plan: it is on disk before that
    batch begins, so a replay that is killed and continued changes plans at the same places."""


_CACHED_GRAPHS = 4
"""Plans that stay parsed."""
_IDENTITY: TypeAdapter[Identity] = TypeAdapter(Identity)
_CHANGE: TypeAdapter[Change] = TypeAdapter(Change)


class Checkpoint:
    """Opens a checkpoint, or makes a new one.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     made = Checkpoint(Path(folder), Identity("run", "flights", 4))
    ...     again = Checkpoint(Path(folder), Identity("run", "flights", 4))
    >>> made.identity == again.identity
    True

    Arguments: the directory; what the checkpoint belongs to; a URL for pyarrow under which the state
    lies, if not in the directory.

    Raises `InputError`, naming what differs and what to do, if the directory belongs to
    something else.
    """

    def __init__(self, root: Path, identity: Identity, state_url: str | None = None) -> None:
        self.root = root
        self._state_url = state_url
        self._shelf = Shelf(state_url) if state_url is not None else None
        make_folder_durable(root)
        path = root / "checkpoint.json"
        found = read_identity(root)
        if found is not None and not _same(found, identity) and not (root / "commits" / "0.json").exists():
            found = _start_over(root, found)
        if found is None:
            if any((root / "commits").glob("[0-9]*.json")):
                raise _foreign(path, "commits without checkpoint.json")
            found = Identity(
                identity.kind, identity.subject, identity.partitions, identity.id or uuid.uuid4().hex
            )
            write_durably(path, _IDENTITY.dump_json(found))
        if not _same(found, identity):
            raise _foreign(path, _described(found), _described(identity))
        self.identity = found
        self.grow(identity.partitions)
        self._graphs: dict[str, PhysicalGraph] = {}
        self._remembering = threading.Lock()
        self.commits = CommitLog(root)
        for folder in ("plans", "changes", "planned", "state"):
            disk().make_folder(root / folder)
        # What is read there, and built on, may have names that a process which died had not flushed.
        disk().flush([root, *(root / folder for folder in ("commits", "plans", "changes"))])

    def grow(self, partitions: int) -> None:
        """Have at least so many partitions from the next batch on, durably.

        A store of N tasks lies in the first N partitions, however many there are, so nothing moves. There
        are never fewer: tuples may lie in any that there were.
        """
        if partitions > self.identity.partitions:
            grown = replace(self.identity, partitions=partitions)
            write_durably(self.root / "checkpoint.json", _IDENTITY.dump_json(grown))
            self.identity = grown

    @property
    def state(self) -> str:
        """Where runs lie: below the URL given for them, or in the checkpoint."""
        return str(self.root / "state") if self._state_url is None else below(self._state_url, "runs")

    def shown(self, path: Path) -> str:
        """The name that tasks find a plan or manifest by.

        A copy's name, if tasks need not see the checkpoint because state lies behind a URL.
        """
        return str(path) if self._shelf is None else self._shelf.put(path)

    def claim_state(self) -> None:
        """Raise `InputError` if the URL of the state belongs to another checkpoint."""
        if self._state_url is not None:
            claim(self._state_url, self.identity.id)

    def plan_path(self, plan: str) -> Path:
        return self.root / "plans" / f"{plan}.json"

    def keep_plan(self, graph: PhysicalGraph) -> str:
        """Store a graph and return its id."""
        text = index_of(graph).text
        plan = hashlib.sha256(text).hexdigest()[:12]
        if not self.plan_path(plan).exists():
            write_durably(self.plan_path(plan), text)
        self._remember(plan, graph)
        return plan

    def graph(self, plan: str) -> PhysicalGraph:
        """The graph with an id.

        A plan of some hundred queries takes a while to read, so the last few stay in memory.
        """
        known = self._graphs.get(plan)
        if known is None:
            path = self.plan_path(plan)
            known = PhysicalGraph.from_json(path.read_bytes(), str(path))
            self._remember(plan, known)
        return known

    def _remember(self, plan: str, graph: PhysicalGraph) -> None:
        with self._remembering:
            self._graphs[plan] = graph
            while len(self._graphs) > _CACHED_GRAPHS:
                del self._graphs[next(iter(self._graphs))]

    def record_change(
        self, graph: PhysicalGraph, plan_id: str | None, cause: str, from_batch: int = 0
    ) -> Change:
        """Make `graph` the plan of batches to be planned, if given from `from_batch` on."""
        newest = self.newest_change()
        number = 0 if newest is None else newest.number + 1
        plan = self.keep_plan(graph)
        streams = tuple(sorted(stream.name for stream in graph.sources))
        change = Change(number, plan, plan_id or plan, streams, cause, from_batch)
        write_durably(self.root / "changes" / f"{number}.json", _CHANGE.dump_json(change))
        sources = {stream.name: stream.source for stream in graph.streams if stream.source is not None}
        active = Active(number, streams, sources, 1 + 2 * graph.tiers if graph.waits else 0)
        write_durably(self.root / "active.json", ACTIVE.dump_json(active))
        return change

    def change(self, number: int) -> Change:
        return _CHANGE.validate_json((self.root / "changes" / f"{number}.json").read_bytes())

    def change_at(self, batch: int) -> Change:
        """The newest change that holds for a batch."""
        change = self.newest_change()
        while change is not None and change.from_batch > batch:
            change = self.change(change.number - 1) if change.number else None
        if change is None:
            raise FileNotFoundError(f"{self.root}/changes has no plan for batch {batch}")
        return change

    def newest_change(self) -> Change | None:
        path = self.root / "active.json"
        if not path.exists():
            return None
        return self.change(int(json.loads(path.read_bytes())["change"]))

    def verify(self) -> None:
        """Raise `InputError` unless the last manifest and all its runs are intact.

        The error names the file.
        """
        last = self.commits.last()
        if last is not None:
            state_root(self.state).verify(last.runs)

    def remove_unfinished(self) -> None:
        """Delete what a killed process was about to write.

        Files without their final names, and interim manifests of switches that were never committed.

        To be called before any thread of this process writes: a plan that is decided or received while
        the topology starts is written under an unfinished name too.
        """
        for pattern in ("*.unfinished", "*/*.unfinished", "commits/switch-*.json"):
            for path in sorted(self.root.glob(pattern)):
                delete_if_there(path)

    def forget_changes(self, before: int, used: Collection[str] = ()) -> None:
        """Delete changes with smaller numbers, and the plans that only they name.

        Plans in `used` stay.

        No batch will run under them again. No caller may record a change meanwhile.
        """
        for path in sorted((self.root / "changes").glob("*.json")):
            if path.stem.isdigit() and int(path.stem) < before:
                disk().delete(path)
        named = {
            _CHANGE.validate_json(path.read_bytes()).plan for path in (self.root / "changes").glob("*.json")
        }
        for path in sorted((self.root / "plans").glob("*.json")):
            if path.stem not in named and path.stem not in used:
                disk().delete(path)


def read_identity(root: Path) -> Identity | None:
    """Whose checkpoint this is; None if there is none.

    >>> read_identity(Path("/nowhere")) is None
    True

    Raises `InputError` for one of another version or a damaged file.
    """
    path = root / "checkpoint.json"
    if not path.exists():
        return None
    try:
        found = _IDENTITY.validate_json(path.read_bytes())
    except ValidationError as error:
        raise _foreign(path, "a file that cannot be read") from error
    if found.version != CHECKPOINT_VERSION:
        raise _foreign(path, f"checkpoint version {found.version}", f"version {CHECKPOINT_VERSION}")
    return found


def _same(found: Identity, wanted: Identity) -> bool:
    # A topology may grow; what a replay decides is for a number of tasks.
    fits = found.kind == "run" or found.partitions == wanted.partitions
    return fits and (found.kind, found.subject) == (wanted.kind, wanted.subject)


def _described(identity: Identity) -> str:
    what = "topology" if identity.kind == "run" else "queries, streams and options with digest"
    return f"the state of a {identity.kind} ({what} {identity.subject}, {identity.partitions} partitions)"


def _start_over(root: Path, found: Identity) -> Identity | None:
    """Empty a checkpoint in which nothing was ever committed.

    A start that failed leaves one. Checkpoints at which another process is at work stay.
    """
    if any((root / "commits").glob("[0-9]*.json")):
        return found
    with hold(root / "lock"):
        for entry in root.iterdir():
            if entry.is_dir():
                shutil.rmtree(entry)
            elif entry.name != "lock":
                entry.unlink()
    return None


def _foreign(path: Path, found: str, wanted: str = "a checkpoint") -> InputError:
    return InputError(
        "foreign-checkpoint",
        Place(str(path)),
        found,
        f"{wanted}; use another directory, delete this one, or go back to what it was made with",
    )
