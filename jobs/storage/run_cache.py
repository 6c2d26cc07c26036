"""Copies of runs on this host, for state that lies on another machine.

A run is mapped into memory, which takes a local file: one that this host has written stays here, and one
from elsewhere is fetched once. All worker processes of a host share the copies. They are only copies:
they may be deleted at any time, and the ones read longest ago are once there are too many bytes.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from pathlib import Path
from urllib.parse import quote

MOST_BYTES = 8 << 30
"""Unless MILLRACE_STATE_CACHE_BYTES says otherwise."""


class RunCache:
    """The copies of the runs under one URL.

    Arguments: the state's URL; a directory, by default MILLRACE_STATE_CACHE or a temporary one; how many
    bytes to keep. Several processes may each exceed the bound by a sixteenth before one looks.
    """

    def __init__(self, root: str, folder: Path | None = None, most_bytes: int | None = None) -> None:
        base = folder or Path(os.environ.get("MILLRACE_STATE_CACHE") or tempfile.gettempdir())
        self._folder = base / f"millrace-runs-{hashlib.sha256(root.encode()).hexdigest()[:12]}"
        self._folder.mkdir(parents=True, exist_ok=True)
        known = most_bytes or int(os.environ.get("MILLRACE_STATE_CACHE_BYTES") or MOST_BYTES)
        self._most_bytes = known
        self._added = 0

    def place(self, path: str) -> Path:
        """Where the copy of a run is, or would be."""
        return self._folder / quote(path, safe="")

    def find(self, path: str) -> Path | None:
        """The copy of a run, if there is one; it counts as read now."""
        copy = self.place(path)
        try:
            os.utime(copy)
        except FileNotFoundError:
            return None
        return copy

    def keep(self, path: str, unfinished: Path) -> Path:
        """Make a file, which must lie beside `place(path)`, the copy of a run."""
        copy = self.place(path)
        self._added += unfinished.stat().st_size
        os.replace(unfinished, copy)
        if self._added > self._most_bytes // 16:
            self._added = 0
            self._shrink(copy)
        return copy

    def forget(self, path: str) -> None:
        self.place(path).unlink(missing_ok=True)

    def _shrink(self, newest: Path) -> None:
        """Delete what was read longest ago; a process that has mapped it keeps it."""
        found: list[tuple[float, int, Path]] = []
        for copy in self._folder.iterdir():
            try:
                status = copy.stat()
            except FileNotFoundError:  # another process looked too
                continue
            found.append((status.st_mtime, status.st_size, copy))
        total = sum(size for _, size, _ in found)
        for _, size, copy in sorted(found, key=lambda each: (each[0], each[2].name)):
            if total <= self._most_bytes:
                break
            if copy != newest:
                copy.unlink(missing_ok=True)
                total -= size
