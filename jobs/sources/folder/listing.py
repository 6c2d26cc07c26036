"""What lies in a folder: which files there are, and which are complete.

Nothing tells when whoever writes a file is done with it. One counts as complete once it was found twice with
the same size and time of change, a second apart at least; who writes more slowly than that writes elsewhere,
or under a name that begins with a dot, and renames. A file waits for those with earlier names.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import os
import stat
import time
from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from jobs.sources.folder.allowed import opened_folder, url_of
from jobs.sources.folder.object_store import objects_below
from optimizer.algebra.errors import InputError, Place

LISTED_EVERY_S = 1.0
MARK_LENGTH = 8


@dataclass(frozen=True)
class Listed:
    """A file as it was found."""

    folder: str
    name: str
    size: int
    mtime_ns: int

    @cached_property
    def mark(self) -> str:
        """What positions remember of it: 48 bits of its name, size and time of change."""
        text = os.fsencode(f"{self.name}\0{self.size}\0{self.mtime_ns}")
        digest = hashlib.blake2b(text, digest_size=MARK_LENGTH * 6 // 8).digest()
        return base64.urlsafe_b64encode(digest).decode()


@dataclass(frozen=True)
class Listing:
    files: tuple[Listed, ...]
    """By name."""
    complete: frozenset[str]
    """Names of those that did not change since they were listed before."""
    settled: bool = False
    """True if nothing at all changed since."""

    @cached_property
    def _names(self) -> list[str]:
        return [file.name for file in self.files]

    def find(self, name: str) -> Listed | None:
        place = bisect_left(self._names, name)
        return self.files[place] if self._names[place : place + 1] == [name] else None

    def before(self, name: str) -> tuple[Listed, ...]:
        """The files with earlier names, complete or not."""
        return self.files[: bisect_left(self._names, name)]

    def behind(self, name: str | None) -> tuple[Listed, ...]:
        """The files with later names, complete or not; all of them without a name."""
        return self.files if name is None else self.files[bisect_right(self._names, name) :]

    def ready_behind(self, name: str | None) -> tuple[Listed, ...]:
        """The files that can be read behind one: all before one that is not complete.

        Without a name, from the first one on.
        """
        behind = self.behind(name)
        waits = next((n for n, file in enumerate(behind) if file.name not in self.complete), None)
        return behind[:waits]


def is_input(name: str) -> bool:
    """False for names of unfinished files, and of marks.

    >>> is_input("a.csv"), is_input(".a.csv"), is_input("_SUCCESS"), is_input("a.csv.tmp")
    (True, False, False, False)
    """
    return not name.startswith((".", "_")) and not name.endswith(".tmp")


def list_files(folder: str, pattern: str) -> tuple[Listed, ...]:
    """The plain files whose names match, by name; symbolic links are none.

    Raises `OSError` if the folder cannot be listed, and `InputError` for a name that cannot be told.
    """
    url = url_of(folder)
    there = _files_of(folder) if url is None else objects_below(url)
    found = []
    for name, size, mtime_ns in there:
        if not is_input(name) or not fnmatch.fnmatchcase(name, pattern):
            continue
        if not name.isprintable():
            expected = "a name of UTF-8 characters that can be printed"
            raise InputError("bad-name", Place(folder), f"a file {name!a}", expected)
        found.append(Listed(folder, name, size, mtime_ns))
    return tuple(sorted(found, key=lambda file: file.name))


def _files_of(folder: str) -> Iterator[tuple[str, int, int]]:
    with opened_folder(folder) as descriptor, os.scandir(descriptor) as entries:
        for entry in entries:
            try:
                now = entry.stat(follow_symlinks=False)
            except FileNotFoundError:
                continue  # It went between the two calls.
            if stat.S_ISREG(now.st_mode):
                yield entry.name, now.st_size, now.st_mtime_ns


class Listings:
    """Lists one stream's files, at most once a second."""

    def __init__(self, folder: str, pattern: str) -> None:
        self._folder = folder
        self._pattern = pattern
        self._newest: Listing | None = None
        self._listed_at = 0.0

    def newest(self) -> Listing:
        """What is there now, or was less than a second ago. Raises `OSError`."""
        if self._newest is not None and time.monotonic() < self._listed_at + LISTED_EVERY_S:
            return self._newest
        files = list_files(self._folder, self._pattern)
        before = frozenset(() if self._newest is None else self._newest.files)
        complete = frozenset(file.name for file in files if file in before)
        settled = self._newest is not None and files == self._newest.files
        self._newest, self._listed_at = Listing(files, complete, settled), time.monotonic()
        return self._newest

    def settled(self) -> Listing:
        """As `newest`, with a second look if there was one: it tells what is complete."""
        if self._newest is None:
            self.newest()
            time.sleep(LISTED_EVERY_S)
        return self.newest()
