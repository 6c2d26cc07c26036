"""Commit manifests: what exists after a batch.

A batch's runs, results and dead letters exist once `commits/BATCH.json` does. The file is
written whole, forced to disk and renamed, so there is either all of a batch or nothing of it.
Everything that the next batch needs to know is in the last manifest.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from jobs.partitioning.layout import StoreLayout
from jobs.protocol.metrics import StoreCounts, StreamProgress
from jobs.protocol.sealed import Torn, seal, unseal
from jobs.storage.disk import delete_if_there, disk
from jobs.storage.remote import read_bytes
from jobs.storage.run import RunRef
from optimizer.algebra.errors import InputError, Place

CHECKPOINT_VERSION: Literal[2] = 2
"""Of everything in a checkpoint. It changes when a file of the version before would be read wrongly or
not at all; 2 added checksums of runs and manifests, and attempts to the names of files."""
_KEPT = 16
"""Manifests kept behind the last one, for people who look for what happened."""


@dataclass(frozen=True, slots=True)
class StreamState(StreamProgress):
    """How far a stream is, at the end of a batch; counts are since the first one."""

    active_at_us: int | None = None
    """Wall clock when a batch last held tuples of it."""
    ended: bool = False
    """Nothing more will come."""
    joining: bool = False
    """It came to a running topology, and what it had before is still being read: only its own watermark
    makes its tuples late, of a table none, and it does not hold back the topology's."""
    in_history: bool = False
    """It reads what lies before all that comes now, and is not silent, however long that takes."""


@dataclass(frozen=True, slots=True)
class StoreState(StoreCounts):
    """A store's counts since the first batch, and since when it holds everything."""

    complete_from_us: int | None = None
    """Tuples with this event time or a newer one are all there; None if all are."""
    columns: tuple[str, ...] = ()
    """The stored columns, `input.column`."""
    filter: str = ""
    """A digest of the conditions under which tuples are stored."""
    layout: StoreLayout | None = None
    """Of a store that is cut into slices of event time, or has tuples under another number of tasks."""


@dataclass(frozen=True, slots=True)
class QueryState:
    results: int = 0
    complete_since_us: int | None = None
    """Results whose newest tuple has this event time or a newer one are all there; None if all are."""
    first_batch_us: int = 0
    """Wall clock of the first batch that answered it, microseconds since 1970."""
    joined_us: int | None = None
    """The topology's watermark of the last batch in which one of its streams was joining, or of running
    groups the event time behind all that had come by then: of older tuples it has not seen all together. None
    if none ever was."""
    key: tuple[str, ...] | None = None
    """Of running groups the outputs by which a row is known (`GraphQuery.key`); None if results stay."""
    table_from: int | None = None
    """The batch from which the rows of running groups are; those of earlier ones are of other groups."""
    table_changes: int = 0
    """Results since then."""


@dataclass(frozen=True, slots=True)
class BatchCounts:
    """What went through the elements of the plan, from which statistics are learnt."""

    accepted: dict[str, int] = field(default_factory=dict)
    """New tuples by stream."""
    edges: dict[str, int] = field(default_factory=dict)
    """Tuples sent along each edge, before copies."""
    rules: dict[str, int] = field(default_factory=dict)
    """Tuples that each source and probe rule produced."""
    held: dict[str, int] = field(default_factory=dict)
    """Tuples in each store at the end of the batch, copies in other tasks not counted."""
    oldest_us: int | None = None
    """Oldest event time that was stored; None if nothing was."""
    newest_us: int | None = None
    """Newest event time that was read; None if nothing was."""
    complete_since_us: dict[str, int] = field(default_factory=dict)
    """Of queries whose stores do not reach back to the first tuple: see `QueryState`."""
    fullest: dict[str, int] = field(default_factory=dict)
    """Tuples that the fullest task of each store received, to keep and to probe with."""
    fullest_held: dict[str, int] = field(default_factory=dict)
    """Tuples in the fullest task of each store at the end of the batch."""
    cpu_us: int = 0
    """Processor time of all tasks, microseconds."""
    element_cpu_us: dict[str, int] = field(default_factory=dict)
    """The part of it that was for a store, or for a rule that receives tuples and stores none, by its id."""


@dataclass(frozen=True, slots=True)
class BatchFigures:
    """What one batch did, for reports over all of them."""

    tuples_in: int
    results: dict[str, int]
    latencies_ms: dict[str, tuple[float, float]]
    """Median and 99th percentile per query with results."""
    state_bytes: int
    level_seconds: tuple[float, ...]
    counts: BatchCounts = field(default_factory=BatchCounts)
    inserted_bytes: int = 0
    """Of the runs that the batch has written."""
    fetched_bytes: int = 0
    """Of the runs that its tasks read on other hosts than the ones where they were written; zero while
    every partition stays where it is."""
    resident_bytes: int = 0
    """The most that was in memory of the stores; zero without a limit, when nobody knows."""
    failed_calls: dict[str, int] = field(default_factory=dict)
    """Calls of user functions and rows of expressions that raised, by query; queries without are missing."""
    set_aside: dict[str, int] = field(default_factory=dict)
    """Tuples by stream that were set aside, as the batch fails with them; streams without are missing."""
    moved: int = 0
    """Stored tuples that got into other tasks or stores, copies counted, because the plan changed."""
    switch_seconds: float = 0.0
    """For how long the batch waited until the state was ready for its plan."""


@dataclass(frozen=True, slots=True)
class Manifest:
    batch: int
    plan: str
    """The plan's id: `plans/ID.json`."""
    epoch: int
    runs: tuple[RunRef, ...]
    streams: dict[str, StreamState]
    stores: dict[str, StoreState]
    queries: dict[str, QueryState]
    files: tuple[OutputFile, ...]
    """Results and dead letters of this batch."""
    watermark_us: int | None
    """The topology's watermark, under which this batch evicted; it never goes back."""
    change: int
    """The serial number of the plan change under which this batch ran."""
    figures: BatchFigures
    removed: tuple[str, ...]
    """Runs of the manifest before that this one no longer lists: to be deleted."""
    position: dict[str, Any] = field(default_factory=dict)
    """The source's position behind this batch."""
    started_us: int = 0
    committed_us: int = 0
    """Wall clock, microseconds since 1970."""
    earlier_us: tuple[int | None, ...] = ()
    """The topology's watermarks of the batches before, the newest first; as many as derived streams need."""
    version: Literal[2] = CHECKPOINT_VERSION

    def joining(self, streams: Iterable[str]) -> bool:
        """True if one of these streams still is joining in the next batch."""
        return any(self.streams[name].joining for name in streams if name in self.streams)

    def runs_by_store(self) -> Mapping[str, tuple[RunRef, ...]]:
        by_store: dict[str, list[RunRef]] = {}
        for run in self.runs:
            by_store.setdefault(run.store, []).append(run)
        return {store: tuple(runs) for store, runs in by_store.items()}


_MANIFEST: TypeAdapter[Manifest] = TypeAdapter(Manifest)


class CommitLog:
    """The manifests of a checkpoint.

    Raises `InputError` on reading a manifest of another version or one that is damaged: state
    cannot be guessed, so a person has to decide.
    """

    def __init__(self, checkpoint: Path) -> None:
        self._folder = checkpoint / "commits"
        disk().make_folder(self._folder)

    def path(self, batch: int) -> Path:
        return self._folder / f"{batch}.json"

    def last(self) -> Manifest | None:
        batches = sorted(int(p.stem) for p in self._folder.glob("*.json") if p.stem.isdigit())
        return read_manifest(str(self.path(batches[-1]))) if batches else None

    def write(self, manifest: Manifest) -> None:
        """Make a batch final. Durable when it returns."""
        write_manifest(self.path(manifest.batch), manifest)
        delete_if_there(self.path(manifest.batch - _KEPT))


def write_manifest(path: Path, manifest: Manifest) -> None:
    """Write a manifest whole, its checksum on a second line; durable when it returns."""
    content = _MANIFEST.dump_json(manifest)
    write_durably(path, seal(content))


@lru_cache(maxsize=4)
def read_manifest(path: str) -> Manifest:
    """Read a manifest; it never changes once it has its name."""
    content, _, _ = (whole := read_bytes(path)).partition(b"\n")
    try:
        manifest = _MANIFEST.validate_json(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or None
        raise _unreadable(path, where, repr(first["input"])[:80]) from error
    try:
        unseal(whole)
    except Torn as torn:
        raise _unreadable(path, None, str(torn)) from torn
    return manifest


def _unreadable(path: str, where: str | None, found: str) -> InputError:
    return InputError(
        "bad-checkpoint",
        Place(path, path=where),
        found,
        f"a whole manifest of checkpoint version {CHECKPOINT_VERSION}; restore the checkpoint from a copy, "
        "or delete it and start over",
    )


def write_durably(path: Path, content: bytes) -> None:
    """Replace a file as a whole; durable when it returns.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     write_durably(Path(folder, "7.json"), b"{}")
    ...     Path(folder, "7.json").read_bytes()
    b'{}'
    """
    unfinished = path.with_name(f"{path.name}.unfinished")
    with disk().create(unfinished) as file:
        file.write(content)
    disk().flush([unfinished])
    disk().rename(unfinished, path)
    disk().flush([path.parent])


@dataclass(frozen=True, slots=True)
class OutputFile:
    """A file that a task has written and the driver has yet to show."""

    path: str
    """Its final path, relative to the output directory."""
    rows: int
    attempt: str
    """Which attempt at the task wrote it: part of its hidden name."""
