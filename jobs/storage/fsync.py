"""Having files survive a loss of power.

A file that was written and renamed is in the page cache; the disk may get the name before the
content, or neither. What a commit manifest lists must be on the disk before the manifest is.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path


def make_durable(files: Iterable[Path], base: Path) -> None:
    """Flush files, and the folders between them and `base`, to the disk.

    Files are flushed side by side: the file system then writes its journal once for many of them.

    Raises `FileNotFoundError` for a file that is not there.
    """
    waiting = sorted(set(files))
    folders = sorted({folder for file in waiting for folder in _between(file.parent, base)})
    for group in (waiting, folders):
        if len(group) == 1:
            sync(group[0])
        elif group:
            list(_pool().map(sync, group))


def sync(path: Path) -> None:
    """Flush one file, or the names in one folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _between(folder: Path, base: Path) -> tuple[Path, ...]:
    """`folder` and its parents up to `base`, which keep the names of new folders."""
    chain = [folder]
    while chain[-1] != base and chain[-1] != chain[-1].parent:
        chain.append(chain[-1].parent)
    return tuple(chain)


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(16, "durable")
