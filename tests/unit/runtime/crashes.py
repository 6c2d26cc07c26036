"""The end of a process at any one of its changes of the disk."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from typing import Any
from unittest.mock import patch

import pyarrow.parquet as pq

from jobs.storage.run import StateRoot

_CHANGES = (
    *((os, name) for name in ("fsync", "replace", "unlink", "mkdir", "rmdir")),
    (pq, "write_table"),
    *((StateRoot, name) for name in ("write", "delete")),
)


class Killed(KeyboardInterrupt):
    """In place of what ends a process; no task takes an interrupt for its own failure."""


@contextmanager
def killed_at(change: int | None) -> Iterator[Callable[[], int]]:
    """A context in which only so many changes of the disk happen, any number if None; gives their number.

    Whatever would change it after that raises `Killed`, also on the way out: nobody tidies up.
    """
    begun = count()
    happened = 0

    def guarded(real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*given: Any, **named: Any) -> Any:
            nonlocal happened
            if change is not None and next(begun) >= change:
                raise Killed
            happened += 1
            return real(*given, **named)

        return call

    with ExitStack() as stack:
        for owner, name in _CHANGES:
            stack.enter_context(patch.object(owner, name, guarded(getattr(owner, name))))
        yield lambda: happened
