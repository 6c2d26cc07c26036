"""Runs: the immutable Arrow files that a store partition consists of.

A run is an uncompressed Arrow IPC file, so that reading it is mapping it: state may be larger
than memory, and the page cache is the cache. A run is found by its `RunRef` only, which holds its name
and its figures (rows, time range per input, arrival range): in a commit manifest, or in a message to
the later levels of the batch that wrote it. No two attempts at a task ever write the same file, so one
that Spark has given up, and that is still at work somewhere, cannot touch what a manifest lists.

A manifest may list a run only once the run would outlive a loss of power (`make_durable`), and
every run's size and checksum are compared with the manifest when a topology starts (`verify`), so
damage is found before anything is computed from it.
"""

from __future__ import annotations

import mmap
import os
import secrets
import shutil
import socket
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from pathlib import Path, PurePosixPath
from urllib.parse import quote

import polars as pl
import pyarrow as pa
import pyarrow.fs as pafs
from pydantic import TypeAdapter

from jobs.storage.disk import delete_if_there, disk, make_durable
from jobs.storage.index_cache import OpenIndexes
from jobs.storage.run_cache import RunCache
from optimizer.algebra.errors import InputError, Place

_CACHED_RUNS = 512
"""Runs that a process keeps open."""
_PIECE_BYTES = 1 << 20
"""Copied at once from remote storage."""


@dataclass(frozen=True, slots=True)
class RunRef:
    """A run as a commit manifest lists it."""

    store: str
    partition: int
    path: str
    """Relative to the state's root: `store/partition/name.arrow`."""
    rows: int
    bytes: int
    """Size of the file."""
    min_times_us: tuple[int, ...]
    """Oldest event time per input of the store, microseconds since 1970, inclusive."""
    max_times_us: tuple[int, ...]
    """Newest event time per input of the store, inclusive."""
    min_arrival: int
    max_arrival: int
    crc32: int = 0
    """Checksum of the file."""
    host: str = ""
    """Where it was written, see `host_name`; empty in manifests from before hosts were kept."""
    stale_us: int | None = None
    """Behind this watermark a quarter of the tuples or more has expired. Known of materialized results only,
    whose tuples expire one by one; None also for those that never do."""


RUNS: TypeAdapter[tuple[RunRef, ...]] = TypeAdapter(tuple[RunRef, ...])
"""Reads and writes lists of runs as JSON, for manifests and between processes."""


@dataclass(frozen=True, slots=True)
class MappedRun:
    """A run in memory, as far as it has been touched."""

    table: pa.Table
    """Its tuples, and what is known of it as metadata of the schema."""
    pages: mmap.mmap
    bytes: int

    def release(self, most_bytes: int) -> None:
        """Have the touched parts of a run larger than that leave this process's memory.

        What is needed again is mapped again, from the page cache or from the disk.
        """
        if self.bytes > most_bytes:
            self.pages.madvise(mmap.MADV_DONTNEED)


class StateRoot:
    """The directory of a topology's runs: a local path or a URL for pyarrow.

    >>> StateRoot("s3://bucket/topology/runs?region=eu-central-1")  # doctest: +SKIP

    Behind a URL a run is one object, which is there as a whole or not at all, under a name that is never
    used twice; nobody asks for it before it is listed, so nothing is renamed and no listing has to be
    up to date. It is read from a copy on this host (`run_cache`).

    Raises `pyarrow.ArrowInvalid` for a URL that pyarrow does not know.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        if "://" in root:
            self.filesystem, base = pafs.FileSystem.from_uri(root)
        else:
            self.filesystem, base = pafs.LocalFileSystem(), os.path.abspath(root)
        self.local = isinstance(self.filesystem, pafs.LocalFileSystem)
        self.fetched_bytes = 0
        """Of runs that this process has read and another host had written."""
        self.indexes = OpenIndexes()
        """Of runs that this process has looked into under a memory limit."""
        self._cache = None if self.local else RunCache(root)
        self._base = base
        self._opened: OrderedDict[str, pl.DataFrame] = OrderedDict()

    def locate(self, path: str) -> str:
        """The full name of a run's file on the root's filesystem."""
        return f"{self._base}/{path}"

    def exists(self, path: str) -> bool:
        if self.local:
            return os.path.exists(self.locate(path))
        return bool(self.filesystem.get_file_info(self.locate(path)).type == pafs.FileType.File)

    def write(
        self, run: RunRef, frame: pl.DataFrame, metadata: Mapping[bytes, bytes] | None = None
    ) -> RunRef:
        """Write a run's file and return `run` with the file's size.

        No other run has its name.

        Nothing lists the run before this returns, so the file needs no other name while it is unfinished.
        `metadata` goes into the file's schema.
        """
        table = frame.to_arrow(compat_level=pl.CompatLevel.oldest())
        if metadata:
            table = table.replace_schema_metadata(metadata)
        name = self.locate(run.path)
        if self._cache is None:
            disk().make_folder(Path(name).parent)
            return _write_file(run, name, table)
        unfinished = self._cache.place(f"{run.path}.{new_attempt()}")
        written = _write_file(run, str(unfinished), table)
        with pa.memory_map(str(unfinished)) as file, self.filesystem.open_output_stream(name) as target:
            target.write(file.read_buffer())
        self._cache.keep(run.path, unfinished)
        return written

    def make_durable(self, runs: Iterable[RunRef]) -> None:
        """Have runs survive a loss of power from now on.

        Other filesystems do so by themselves.
        """
        if self.local:
            make_durable((Path(self.locate(run.path)) for run in runs), Path(self._base))

    def verify(self, runs: Iterable[RunRef]) -> None:
        """Raise `InputError` with the file unless every run is there as it was written.

        Behind a URL only sizes are compared; contents are whenever a run is fetched.
        """
        with ThreadPoolExecutor(min(8, os.cpu_count() or 1)) as pool:
            for fault in pool.map(self._fault, runs):
                if fault is not None:
                    raise fault

    def _fault(self, run: RunRef) -> InputError | None:
        name = self.locate(run.path)
        size = self.filesystem.get_file_info(name).size
        if size is None:
            return _damaged(name, run, "no such file")
        if size != run.bytes:
            return _damaged(name, run, f"{size} bytes")
        if self.local and _checksum(name) != run.crc32:
            return _damaged(name, run, "other content than was written")
        return None

    def read(self, run: RunRef, keep: bool = True) -> pl.DataFrame:
        """The run's tuples, mapped and not read.

        Recently read runs stay open, because worker processes live longer than a batch; not if not to `keep`.

        Raises `InputError` for a run behind a URL that is not what was written.
        """
        frame = self._opened.get(run.path)
        if frame is not None:
            self._opened.move_to_end(run.path)
            return frame
        frame = pl.DataFrame(pl.from_arrow(self.map(run).table))
        if keep:
            self._opened[run.path] = frame
            self._forget()
        return frame

    def map(self, run: RunRef) -> MappedRun:
        """The run, mapped and not read.

        The last reference to it or to a part of its table keeps it mapped.

        Raises `InputError` for a run behind a URL that is not what was written.
        """
        with open(self._on_this_host(run), "rb") as file:
            pages = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return MappedRun(pa.ipc.open_file(pa.py_buffer(pages)).read_all(), pages, run.bytes)

    def _on_this_host(self, run: RunRef) -> str:
        """The name of a local file with the run's content."""
        name = self.locate(run.path)
        if self._cache is None:
            # The file system of several hosts: what another one wrote comes over the network.
            self.fetched_bytes += run.bytes if run.host not in ("", host_name()) else 0
            return name
        copy = self._cache.find(run.path)
        if copy is None:
            unfinished = self._cache.place(f"{run.path}.{new_attempt()}")
            with self.filesystem.open_input_stream(name) as source, unfinished.open("wb") as target:
                shutil.copyfileobj(source, target, _PIECE_BYTES)
            if _checksum(str(unfinished)) != run.crc32:
                unfinished.unlink()
                raise _damaged(name, run, "other content than was written")
            copy = self._cache.keep(run.path, unfinished)
            self.fetched_bytes += run.bytes
        return str(copy)

    def _forget(self) -> None:
        """Close runs that are too many, and those that were deleted.

        Files that stay open keep their disk space.

        Deleted runs are not read again and so become the ones read longest ago.
        """
        for path in list(islice(self._opened, 8)):
            here = self.locate(path) if self._cache is None else self._cache.place(path)
            if len(self._opened) > _CACHED_RUNS or not os.path.exists(here):
                del self._opened[path]

    def delete(self, paths: Iterable[str]) -> None:
        """Delete runs that no manifest lists any more; those already gone are passed over."""
        for path in paths:
            if self._cache is not None:
                self._cache.forget(path)
            if self.local:
                delete_if_there(Path(self.locate(path)))
                continue
            try:
                self.filesystem.delete_file(self.locate(path))
            except FileNotFoundError:
                continue

    def delete_others(self, kept: Iterable[RunRef]) -> tuple[str, ...]:
        """Delete every file that is not one of `kept` and return their paths, sorted.

        To be called with the runs of the last manifest, between two batches: what is left behind by
        batches that were never committed, and by attempts that were given up.
        """
        keep = {run.path for run in kept}
        selector = pafs.FileSelector(self._base, allow_not_found=True, recursive=True)
        found = [i.path for i in self.filesystem.get_file_info(selector) if i.type == pafs.FileType.File]
        base = PurePosixPath(self._base)
        stale = sorted(p for p in (str(PurePosixPath(f).relative_to(base)) for f in found) if p not in keep)
        self.delete(stale)
        self.remove_empty_folders()
        return tuple(stale)

    def remove_empty_folders(self) -> None:
        """Remove the folders of stores without runs.

        To be called while no task is at work.
        """
        if not self.local:
            return
        for folder, inner, files in os.walk(self._base, topdown=False):
            if not files and folder != self._base and not any(os.path.isdir(f"{folder}/{i}") for i in inner):
                disk().remove_folder(Path(folder))


def _write_file(run: RunRef, name: str, table: pa.Table) -> RunRef:
    with disk().create(Path(name)) as sink:
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table.combine_chunks(), max_chunksize=2**31 - 1)
        size = sink.tell()
    return replace(run, bytes=size, crc32=_checksum(name))


def _checksum(name: str) -> int:
    with pa.memory_map(name) as file:
        return zlib.crc32(file.read_buffer())


def _damaged(name: str, run: RunRef, found: str) -> InputError:
    return InputError(
        "damaged-state",
        Place(name),
        found,
        f"the {run.bytes} bytes that the last commit lists; restore the checkpoint from a copy, "
        "or delete it and start over",
    )


@cache
def host_name() -> str:
    """This host's name, the one under which Spark knows it if it was given one.

    >>> host_name() != ""
    True
    """
    return os.environ.get("SPARK_LOCAL_HOSTNAME") or socket.gethostname()


def new_attempt() -> str:
    """A name that no other attempt at any task has, on any host, even after a crash.

    >>> len(new_attempt())
    12
    """
    return secrets.token_hex(6)


def run_path(store: str, partition: int, batch: int, level: int, attempt: str, kind: str = "new") -> str:
    """Where a run lies: sorted names are in order of batches.

    >>> run_path("store-1", 0, 7, 1, "5eb6d3a2f001")
    'store-1/0/000000000007-01-new-5eb6d3a2f001.arrow'
    """
    return f"{quote(store, safe='')}/{partition}/{batch:012d}-{level:02d}-{kind}-{attempt}.arrow"
