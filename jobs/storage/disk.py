"""Every change of a local disk that a topology's state and results depend on.

A file that was written and renamed is in the page cache; the disk may get the name before the content, or
neither. What a commit manifest lists must be on the disk before the manifest is. All such changes go through
one object, so that a test can put a disk in its place that loses what was not flushed, is full, or fails at
any of them (docs/design/simulation.md).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from pathlib import Path

import pyarrow as pa


class Disk:
    """Changes of files and folders, as the operating system carries them out.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     with disk().create(Path(folder, "a.unfinished")) as file:
    ...         written = file.write(b"{}")
    ...     disk().rename(Path(folder, "a.unfinished"), Path(folder, "a.json"))
    ...     Path(folder, "a.json").read_bytes()
    b'{}'
    """

    @contextmanager
    def create(self, path: Path) -> Iterator[pa.NativeFile]:
        """Write a file in place of one that may be there. Not durable."""
        with pa.OSFile(str(path), "wb") as file:
            yield file

    def rename(self, old: Path, new: Path) -> None:
        """Give a file another name in its folder, in place of one that has it.

        Not durable.
        Raises `FileNotFoundError` if there is none.
        """
        os.replace(old, new)

    def delete(self, path: Path) -> None:
        """Delete a file. Raises `FileNotFoundError` if there is none."""
        os.unlink(path)

    def make_folder(self, path: Path) -> None:
        """Make a folder and those above it, as far as they are missing. Not durable."""
        path.mkdir(parents=True, exist_ok=True)

    def remove_folder(self, path: Path) -> None:
        """Remove an empty folder."""
        os.rmdir(path)

    def flush(self, paths: Iterable[Path]) -> None:
        """Flush the content of files, and the names in folders, to the disk.

        They are flushed side by side: the file system then writes its journal once for many of them.

        Raises `FileNotFoundError` for a path that is not there.
        """
        waiting = list(paths)
        if len(waiting) == 1:
            _flush(waiting[0])
        elif waiting:
            list(_pool().map(_flush, waiting))


_IN_USE = [Disk()]


def disk() -> Disk:
    """The disk that this process uses."""
    return _IN_USE[-1]


@contextmanager
def using(other: Disk) -> Iterator[None]:
    """Have this process use another disk inside the block."""
    _IN_USE.append(other)
    try:
        yield
    finally:
        _IN_USE.remove(other)


def delete_if_there(path: Path) -> None:
    """Delete a file; one that is already gone is passed over."""
    try:
        disk().delete(path)
    except FileNotFoundError:
        return


def make_folder_durable(path: Path) -> None:
    """Make a folder, if it is missing, whose name survives a loss of power.

    Also one that is there may have been made by a process that died before it could flush the name.
    """
    above = [path.parent]
    while not above[-1].exists():
        above.append(above[-1].parent)
    disk().make_folder(path)
    # Of a folder that another account keeps the name is older than we are.
    disk().flush(folder for folder in above if os.access(folder, os.R_OK | os.W_OK))


def make_durable(files: Iterable[Path], base: Path, renamed: Iterable[Path] = ()) -> None:
    """Have files, and their folders up to `base`, survive a loss of power.

    Of files in `renamed`, which were flushed before, the names survive it from now on.

    Raises `FileNotFoundError` for a file that is not there.
    """
    waiting = sorted(set(files))
    disk().flush(waiting)
    folders = {folder for file in waiting for folder in _between(file.parent, base)}
    disk().flush(sorted(folders | {file.parent for file in renamed}))


def _between(folder: Path, base: Path) -> tuple[Path, ...]:
    """`folder` and its parents up to `base`, which keep the names of new folders."""
    chain = [folder]
    while chain[-1] != base and chain[-1] != chain[-1].parent:
        chain.append(chain[-1].parent)
    return tuple(chain)


def _flush(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(16, "durable")
