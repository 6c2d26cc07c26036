"""A disk that keeps only what was flushed, is full or fails on command, and ends processes at any change.

Files lie in a real folder, so that whatever reads them does so as always. Beside it stands what a loss of
power would leave: contents that were flushed, and names whose folder was. A change of names that was not
flushed is kept or lost by chance, alone or with all that follow; content that was not flushed is whole, cut
or empty.
"""

from __future__ import annotations

import errno
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import pyarrow as pa

from jobs.storage.disk import Disk

FaultKind = Literal["kill", "power", "full", "rename fails", "flush fails", "pause"]
FATAL = ("kill", "power", "pause")


class Killed(KeyboardInterrupt):
    """In place of what ends a process; no task takes an interrupt for its own failure."""


@dataclass(frozen=True, slots=True)
class DiskFault:
    """What happens at one of the changes of the disk that a process makes."""

    kind: FaultKind
    at: int
    """The change, counted from the beginning of the process's share of a step; of those that the fault can
    happen to the first one behind it."""

    def __str__(self) -> str:
        return f"{self.kind} at change {self.at}"


@dataclass(eq=False, slots=True)
class _File:
    number: int
    flushed: bool = False


@dataclass(frozen=True, slots=True)
class _Change:
    """Of names, not flushed."""

    kind: Literal["add", "remove", "rename", "make folder", "remove folder"]
    path: str
    file: _File | None = None
    old: str = ""


@dataclass(slots=True)
class _Names:
    files: dict[str, _File] = field(default_factory=dict)
    folders: set[str] = field(default_factory=set)

    def carry_out(self, change: _Change) -> None:
        match change.kind:
            case "add" | "rename":
                assert change.file is not None
                if change.kind == "rename" and self.files.get(change.old) is change.file:
                    del self.files[change.old]
                self.files[change.path] = change.file
            case "remove":
                if self.files.get(change.path) is change.file:
                    del self.files[change.path]
            case "make folder":
                self.folders.add(change.path)
            case "remove folder":
                inside = f"{change.path}/"
                if not any(name.startswith(inside) for name in (*self.files, *self.folders)):
                    self.folders.discard(change.path)


class SimulatedDisk(Disk):
    """The disk of everything below `root`, of one process at a time.

    Arguments: an empty folder; where contents are kept that names have been taken from, beside it.
    """

    def __init__(self, root: Path, vault: Path) -> None:
        self.root = str(root)
        self._vault = vault
        self._live = _Names()
        self._kept = _Names(folders={self.root})
        self._pending: list[_Change] = []
        self._made = 0
        self._fault: DiskFault | None = None
        self._chance = random.Random(0)
        self._dead = False
        self.changes = 0
        """Since the last fault was armed."""
        self.struck = False
        """True once the armed fault has happened."""
        self.hooks: dict[int, Callable[[], None]] = {}
        """What happens beside the process, by the number of the change that it comes before."""
        self.counts: Counter[str] = Counter()
        """What happened how often, for the report on coverage."""
        self.trace: list[str] = []
        """Every change, in order."""
        self.step: Callable[[], str] = lambda: ""
        """What the process is doing, for that report."""

    def arm(self, fault: DiskFault | None, seed: str) -> None:
        """Begin the share of a process, in which a fault happens or none."""
        self._fault, self._chance = fault, random.Random(seed)
        self.changes, self.struck, self._dead = 0, False, False

    def injected(self, error: OSError) -> bool:
        """True for an error that this disk has made up."""
        return bool(getattr(error, "is_simulated", False))

    @contextmanager
    def beside(self) -> Iterator[None]:
        """A block in which another process is at work, to which no fault happens."""
        before = self._fault, self._dead, self.changes, self.hooks
        self._fault, self._dead, self.hooks = None, False, {}
        try:
            yield
        finally:
            self._fault, self._dead, self.changes, self.hooks = before

    def _begin(self, kind: str, path: Path, can: tuple[FaultKind, ...] = ()) -> FaultKind | None:
        """Count a change; the fault that it has to end with, if any."""
        if self._dead:
            raise Killed
        hook = self.hooks.pop(self.changes, None)
        if hook is not None:
            hook()
        number, fault = self.changes, self._fault
        self.changes += 1
        self.trace.append(f"{kind} {_shown(path, self.root)}")
        if fault is None or self.struck or number < fault.at:
            return None
        if fault.kind not in (*FATAL, *can):
            return None
        self.struck = True
        self.counts[f"{fault.kind}: {kind}"] += 1
        self.counts[f"step: {self.step()}"] += 1
        if fault.kind in FATAL:
            self._dead = True
            if kind != "write" or self._chance.random() < 0.3:
                raise Killed
        return fault.kind

    def _fails(self, code: int, path: Path) -> OSError:
        error = OSError(code, os.strerror(code), str(path))
        error.is_simulated = True  # type: ignore[attr-defined]
        return error

    @contextmanager
    def create(self, path: Path) -> Iterator[pa.NativeFile]:
        fault = self._begin("write", path, ("full",))
        name = os.path.abspath(path)
        self._made += 1
        file = _File(self._made)
        if name in self._live.files:
            os.unlink(name)
        with super().create(path) as target:
            os.link(name, self._place(file))
            self._change(_Change("add", name, file))
            yield target
        if fault is not None:
            os.truncate(name, int(self._chance.random() * os.path.getsize(name)))
            if fault == "full":
                raise self._fails(errno.ENOSPC, path)
            raise Killed

    def rename(self, old: Path, new: Path) -> None:
        if self._begin("rename", new, ("rename fails",)):
            raise self._fails(errno.EIO, new)
        super().rename(old, new)
        source, target = os.path.abspath(old), os.path.abspath(new)
        assert os.path.dirname(source) == os.path.dirname(target)
        self._change(_Change("rename", target, self._live.files[source], source))

    def delete(self, path: Path) -> None:
        self._begin("delete", path)
        super().delete(path)
        name = os.path.abspath(path)
        self._change(_Change("remove", name, self._live.files[name]))

    def make_folder(self, path: Path) -> None:
        name = os.path.abspath(path)
        if name in self._live.folders or name == self.root:
            return
        self.make_folder(Path(os.path.dirname(name)))
        if self._begin("make folder", path, ("full",)):
            raise self._fails(errno.ENOSPC, path)
        super().make_folder(path)
        self._change(_Change("make folder", name))

    def remove_folder(self, path: Path) -> None:
        self._begin("remove folder", path)
        super().remove_folder(path)
        self._change(_Change("remove folder", os.path.abspath(path)))

    def flush(self, paths: Iterable[Path]) -> None:
        for path in paths:
            if self._begin("flush", path, ("flush fails",)):
                raise self._fails(errno.EIO, path)
            super().flush([path])
            self._flushed(os.path.abspath(path))

    def _flushed(self, name: str) -> None:
        if name in self._live.files:
            self._live.files[name].flushed = True
            return
        left = []
        for change in self._pending:
            if os.path.dirname(change.path) == name:
                self._kept.carry_out(change)
            else:
                left.append(change)
        self._pending = left

    def _change(self, change: _Change) -> None:
        self._live.carry_out(change)
        self._pending.append(change)

    def _place(self, file: _File) -> Path:
        return self._vault / str(file.number)

    def lose_power(self, seed: str) -> None:
        """Leave of everything what a loss of power may leave."""
        chance = random.Random(seed)
        if chance.random() < 0.5:
            survive = self._pending[: chance.randint(0, len(self._pending))]
        else:
            survive = [change for change in self._pending if chance.random() < 0.5]
        for change in survive:
            self._kept.carry_out(change)
        shutil.rmtree(self.root)
        self.counts["changes of names lost"] += len(self._pending) - len(survive)
        names, self._live, self._pending = self._kept, _Names(), []
        os.makedirs(self.root)
        for folder in sorted(names.folders):
            if folder != self.root and os.path.isdir(os.path.dirname(folder)):
                os.mkdir(folder)
                self._live.folders.add(folder)
        for name, file in names.files.items():
            if not os.path.isdir(os.path.dirname(name)):
                continue
            left = file if file.flushed else self._torn(file, chance)
            os.link(self._place(left), name)
            self._live.files[name] = left
        self._kept = _Names(dict(self._live.files), {self.root, *self._live.folders})
        self.counts["power lost"] += 1

    def _torn(self, file: _File, chance: random.Random) -> _File:
        self._made += 1
        torn = _File(self._made, flushed=True)
        content = self._place(file).read_bytes()
        drawn = chance.random()
        size = len(content) if drawn < 0.3 else 0 if drawn < 0.6 else int(chance.random() * len(content))
        self._place(torn).write_bytes(content[:size])
        self.counts["contents lost" if size < len(content) else "contents kept"] += 1
        return torn


def _shown(path: Path, root: str) -> str:
    """A path below the root, without what differs between two runs."""
    return os.path.relpath(path, root)
