"""What a receiver has taken, in a file beside the checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import TypeAdapter

from jobs.recovery.manifest import write_durably

Per: TypeAlias = Literal["batch", "result"]
"""What a request carries: results of a batch, as many as fit, or a single one."""
_NOTHING = -1


@dataclass(frozen=True, slots=True)
class Begun:
    """A batch that is being posted."""

    batch: int
    per: Per
    """The choice that it began under and ends under: no result comes again with another key."""
    taken: Mapping[str, int] = field(default_factory=dict)
    """By query, how many of its results the receiver has, in their order."""

    def with_taken(self, query: str, taken: int) -> Begun:
        """The same batch, once more is taken of a query.

        >>> Begun(4, "result", {"late": 7}).with_taken("late", 8).taken
        {'late': 8}
        """
        return replace(self, taken={**self.taken, query: taken})


@dataclass(frozen=True, slots=True)
class _Taken:
    batch: int = _NOTHING
    """The last batch that the receiver has."""
    begun: Begun | None = None
    """The one behind it, if its requests have begun."""


_TAKEN: TypeAdapter[_Taken] = TypeAdapter(_Taken)


class Record:
    """Outlives the process that posts.

    Argument: the file.
    """

    def __init__(self, file: Path) -> None:
        self._file = file

    def last_batch(self) -> int:
        """The last batch that the receiver has, or -1."""
        return self._read().batch

    def begin(self, batch: int, per: Per) -> Begun:
        """Begin a batch with a choice, or go on with it as it was begun."""
        begun = self._read().begun
        if begun is None or begun.batch != batch:
            # Before the first request: the next process may be told another choice.
            begun = self.keep(Begun(batch, per))
        return begun

    def keep(self, begun: Begun) -> Begun:
        """Note what is taken of a batch, durably."""
        self._write(replace(self._read(), begun=begun))
        return begun

    def end(self, batch: int) -> None:
        """Note that all of a batch is taken, durably."""
        self._write(_Taken(batch))

    def _read(self) -> _Taken:
        return _TAKEN.validate_json(self._file.read_bytes()) if self._file.exists() else _Taken()

    def _write(self, taken: _Taken) -> None:
        write_durably(self._file, _TAKEN.dump_json(taken))
