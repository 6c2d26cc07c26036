"""How far a topology is in and behind its histories, and the next batch goes.

A position has that of the folder and that of the live part. Where the live part begins is looked up once,
with the stream's first batch, and stays in its positions: what comes while the files are read is not lost. A
batch holds tuples of one of the two only.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from jobs.sources.connector import Offsets, Position, SeekableOffsets, Servers, live_connector
from jobs.sources.folder.listing import LISTED_EVERY_S
from jobs.sources.folder.offsets import FolderOffsets
from jobs.sources.history.late import LateFiles
from jobs.sources.history.settings import FolderHistory
from jobs.sources.start import Edge

OVER_AFTER_S = 2 * LISTED_EVERY_S
"""Without another file, counted from when the last one was read: two looks at least."""


@dataclass(frozen=True, slots=True)
class _Progress:
    """How far a stream is."""

    has_begun: bool = False
    folder: Position = field(default_factory=dict)
    """The folder's position; once the stream is live, the marks of the files that were read."""
    files: tuple[int, int] = (0, 0)
    """Of the folder's files how many were read, and how many there are, when it was last told."""
    live: Position | None = None
    """The live part's; None while its source is not there."""
    is_live: bool = False
    late: tuple[tuple[str, str], ...] = ()
    """Files that came since, with what to say of each."""

    @staticmethod
    def of(settings: FolderHistory, position: Position) -> _Progress:
        """As a position has it; the beginning, if it is one of another history."""
        if position.get("history") != _identity(settings):
            return _Progress()
        read, there = position["files"]
        return _Progress(True, position["folder"], (read, there), position["live"], position["is_live"])

    def position(self, settings: FolderHistory) -> Position:
        return {
            "history": _identity(settings),
            "place": settings.folder,
            "folder": self.folder,
            "files": list(self.files),
            "then": settings.live_connector,
            "live": self.live,
            "is_live": self.is_live,
            "late": [list(late) for late in self.late],
        }


def _identity(settings: FolderHistory) -> str:
    then = "entries" if settings.live is None else settings.live.place
    return f"{settings.identity}, then {then}"


class HistoryOffsets(Offsets):
    """Plans histories and what is behind them, one per planning process."""

    def __init__(self, servers: Servers) -> None:
        self._servers = servers
        self._folders = FolderOffsets()
        self._live: dict[str, SeekableOffsets] = {}
        self._late: dict[str, LateFiles] = {}
        self._at_end_since: dict[str, float] = {}
        """By stream, since when there is nothing left to read of its folder."""

    def ends(
        self, streams: Mapping[str, FolderHistory], positions: Mapping[str, Position], share: int
    ) -> dict[str, Position]:
        """As any connector's.

        Raises `Away` while a folder that is still read or a server cannot be reached, and `InputError` like
        the connectors of both parts.
        """
        before = {stream: _Progress.of(settings, positions[stream]) for stream, settings in streams.items()}
        after = {
            stream: self._on_in_history(stream, settings, before[stream], share)
            for stream, settings in sorted(streams.items())
        }
        # From the batch behind the one that says where: a repeated batch must know where it began.
        going = {name: streams[name] for name, now in after.items() if now.is_live and before[name].live}
        for connector, theirs in _by_connector(going).items():
            known = {stream: after[stream].live or {} for stream in theirs}
            settings = {stream: one.live for stream, one in theirs.items()}
            for stream, live in self._of(connector).ends(settings, known, share).items():
                after[stream] = replace(after[stream], live=live)
        return {
            stream: now.position(streams[stream]) for stream, now in after.items() if now != before[stream]
        }

    def newest(self, streams: Mapping[str, FolderHistory]) -> dict[str, Position]:
        """Behind what the live part has; the files are read before it, however many."""
        newest: dict[str, Position] = {}
        for connector, theirs in _by_connector(streams).items():
            newest |= self._of(connector).newest({stream: one.live for stream, one in theirs.items()})
        return {
            stream: {
                "history": _identity(settings),
                "then": settings.live_connector,
                "live": newest.get(stream),
            }
            for stream, settings in streams.items()
        }

    def backlog(self, stream: str, position: Position) -> int:
        """Of both parts."""
        waiting = 0 if position["is_live"] else self._folders.backlog(stream, position["folder"])
        if position["live"] is not None:
            waiting += self._of(position["then"]).backlog(stream, position["live"])
        return waiting

    def _on_in_history(self, stream: str, settings: FolderHistory, now: _Progress, share: int) -> _Progress:
        """So far on in the files as there is room, and with the live part's beginning."""
        if now.live is None:
            start = settings.begin
            if now.has_begun and start is Edge.LATEST:
                # The source was not there when the stream began, so all of it came since.
                start = Edge.EARLIEST
            live = self._of(settings.live_connector).seek(stream, settings.live, start)
            now = replace(now, has_begun=True, live=live)
        if now.is_live:
            late = self._late.setdefault(stream, LateFiles(settings.folder, settings.pattern))
            read, told = late.beside(now.folder["read"])
            return replace(now, folder={"read": read}, late=told)
        end = self._folders.ends({stream: settings}, {stream: now.folder}, share).get(stream)
        if end is not None:
            self._at_end_since.pop(stream, None)
            return replace(now, folder=end, files=self._folders.files_read(stream, settings, end))
        if self._is_over(stream, settings, now.folder):
            files = self._folders.files_read(stream, settings, now.folder)
            marks = self._folders.marks(settings, now.folder)
            return replace(now, folder={"read": marks}, files=files, is_live=True)
        return now

    def _is_over(self, stream: str, settings: FolderHistory, folder: Position) -> bool:
        """True if looks at the folder go on finding nothing behind what was read."""
        if not self._folders.is_at_end(stream, settings, folder):
            self._at_end_since.pop(stream, None)
            return False
        since = self._at_end_since.setdefault(stream, time.monotonic())
        return time.monotonic() >= since + OVER_AFTER_S

    def _of(self, connector: str) -> SeekableOffsets:
        if connector not in self._live:
            offsets = live_connector(connector).offsets(self._servers)
            assert isinstance(offsets, SeekableOffsets), f"{connector} goes on behind no history"
            self._live[connector] = offsets
        return self._live[connector]


def _by_connector(streams: Mapping[str, FolderHistory]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for stream, settings in streams.items():
        found.setdefault(settings.live_connector, {})[stream] = settings
    return found
