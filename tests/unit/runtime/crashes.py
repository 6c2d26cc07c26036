"""The end of a process at any one of its changes of the disk."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

import pyarrow as pa

from jobs.storage.disk import Disk, using


class Killed(KeyboardInterrupt):
    """In place of what ends a process; no task takes an interrupt for its own failure."""


@contextmanager
def killed_at(change: int | None) -> Iterator[Callable[[], int]]:
    """A context in which only so many changes of the disk happen, any number if None; gives their number.

    Whatever would change it after that raises `Killed`, also on the way out: nobody tidies up.
    """
    mortal = _Mortal(change)
    with using(mortal):
        yield lambda: mortal.happened


class _Mortal(Disk):
    """A disk that only so many changes come to."""

    def __init__(self, most: int | None) -> None:
        self._most = most
        self._begun = count()
        self.happened = 0

    def _begin(self) -> None:
        if self._most is not None and next(self._begun) >= self._most:
            raise Killed
        self.happened += 1

    @contextmanager
    def create(self, path: Path) -> Iterator[pa.NativeFile]:
        self._begin()
        with super().create(path) as file:
            yield file

    def rename(self, old: Path, new: Path) -> None:
        self._begin()
        super().rename(old, new)

    def delete(self, path: Path) -> None:
        self._begin()
        super().delete(path)

    def make_folder(self, path: Path) -> None:
        self._begin()
        super().make_folder(path)

    def remove_folder(self, path: Path) -> None:
        self._begin()
        super().remove_folder(path)

    def flush(self, paths: Iterable[Path]) -> None:
        for path in paths:
            self._begin()
            super().flush([path])
