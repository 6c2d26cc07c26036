"""One process at a time works on a checkpoint."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from optimizer.algebra.errors import InputError, Place


@contextmanager
def hold(path: Path) -> Iterator[None]:
    """Hold the lock file until the block, or the process, ends.

    Raises `InputError` if another process holds it.
    """
    with path.open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise InputError(
                "in-use",
                Place(str(path)),
                "a lock held by another process",
                "nobody else working on it; stop that process first",
            ) from None
        yield
