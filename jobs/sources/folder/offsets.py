"""How far a topology is in its folders, and how far the next batch goes.

A position has the file that was begun last and how far it was read, and marks of all that were read before
and still lie there: a file that comes with an earlier name, or that was changed, is none of them. A file that
was read to its end may go.

The process that plans batches looks only for where rows begin, and into Parquet files' footers.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import ceil
from typing import Any

from jobs.sources.connector import Away, Offsets, Position
from jobs.sources.files.parquet import opened
from jobs.sources.folder.files import FolderFiles
from jobs.sources.folder.lines import LongRow, read_header, taken_rows
from jobs.sources.folder.listing import MARK_LENGTH, Listed, Listing, Listings
from jobs.sources.folder.opening import changed, gone, late, opened_as, path_of
from optimizer.algebra.errors import InputError, Place

_PART_ROWS = 16_384
"""Of a text file, which only its own bytes tell how to divide: so many rows at most are one task's."""
_MOST_FILES = 1000
"""Of a stream in a batch."""
_MOST_READ = 20_000
"""Files that were read and still lie in the folder: every position has a mark of each."""
_FOOTERS = 100
"""Parquet files whose rows are counted when a backlog is asked for; those of others are estimated."""
_MOST_COUNTED = 10_000
"""Parquet files whose rows are remembered."""
_LINE_BYTES = 100
"""Of a row, as long as none was seen."""


@dataclass(frozen=True, slots=True)
class _Cursor:
    """How far a stream is in its folder."""

    file: Listed | None = None
    """The file that was begun last."""
    row: int = 0
    """Rows of it that were read."""
    byte: int = 0
    """Where its next row begins; 0 in a Parquet file."""
    ended: bool = True
    """True if nothing more is read of it."""
    read: str = ""
    """The marks of the files before it."""

    @staticmethod
    def of(settings: FolderFiles, position: Position) -> _Cursor:
        """As a position has it; the beginning, if it is one of other files."""
        if position.get("of") != settings.identity or position["file"] is None:
            return _Cursor()
        file = Listed(settings.folder, *position["file"])
        return _Cursor(file, position["rows"], position["byte"], position["ended"], position["read"])

    @property
    def name(self) -> str | None:
        return None if self.file is None else self.file.name

    def behind(self, file: Listed) -> _Cursor:
        """At the beginning of the next file."""
        read = self.read if self.file is None else self.read + self.file.mark
        return _Cursor(file, 0, 0, False, read)


class FolderOffsets(Offsets):
    """Plans folders, one per planning process."""

    def __init__(self) -> None:
        self._folders: dict[str, tuple[FolderFiles, Listings]] = {}
        self._rows: dict[Listed, int] = {}
        """Of Parquet files, as their footers say."""

    def ends(
        self, streams: Mapping[str, FolderFiles], positions: Mapping[str, Position], share: int
    ) -> dict[str, Position]:
        """As any connector's.

        Raises `Away` while a folder cannot be listed, and `InputError` under the policy `fail` for files
        that are damaged, changed, gone or late.
        """
        found = {}
        for stream, settings in sorted(streams.items()):
            listing = self._listed(stream, settings)
            if len(self._rows) > _MOST_COUNTED:
                self._rows.clear()
            try:
                end = _Batch(settings, listing, self._rows, share).end(positions[stream])
            except OSError as error:
                raise Away(f"{settings.place}: {error}") from error
            if end is not None:
                found[stream] = end
        return found

    def newest(self, streams: Mapping[str, FolderFiles]) -> dict[str, Position]:
        """The last file that is complete, and has none before it that is not."""
        found = {}
        for stream, settings in streams.items():
            ready = self._listed(stream, settings, settled=True).ready_behind(None)
            if ready:
                found[stream] = {"of": settings.identity, "name": ready[-1].name}
        return found

    def backlog(self, stream: str, position: Position) -> int:
        """Rows behind a position, of the files that were listed last.

        Counted in Parquet files, up to a number of them; otherwise estimated from the bytes.
        """
        if stream not in self._folders:
            return 0
        settings, listings = self._folders[stream]
        cursor = _Cursor.of(settings, position)
        try:
            waiting = listings.newest().ready_behind(cursor.name)
        except OSError as error:
            raise Away(str(error)) from error
        present = () if cursor.file is None or cursor.ended else (cursor.file,)
        if settings.format == "parquet":
            return self._rows_of((*present, *waiting)) - (cursor.row if present else 0)
        left = sum(file.size for file in (*present, *waiting)) - (cursor.byte if present else 0)
        # As long as those of the file that was read last.
        per_row = cursor.byte / cursor.row if cursor.row else _LINE_BYTES
        rows: int = ceil(left / per_row)
        return rows

    def is_at_end(self, stream: str, settings: FolderFiles, position: Position) -> bool:
        """True if all files were read to their end, and two looks have found no others.

        Raises `Away` while the folder cannot be listed.
        """
        listing, cursor = self._listed(stream, settings), _Cursor.of(settings, position)
        return listing.settled and cursor.ended and not listing.behind(cursor.name)

    def marks(self, settings: FolderFiles, position: Position) -> str:
        """The marks of the files up to a position."""
        cursor = _Cursor.of(settings, position)
        return cursor.read if cursor.file is None else cursor.read + cursor.file.mark

    def files_read(self, stream: str, settings: FolderFiles, position: Position) -> tuple[int, int]:
        """How many files were read to their end, and how many the folder has."""
        listing, cursor = self._listed(stream, settings), _Cursor.of(settings, position)
        there = len(listing.files)
        begun = there - len(listing.behind(cursor.name))
        return begun if cursor.ended else max(0, begun - 1), there

    def _rows_of(self, files: tuple[Listed, ...]) -> int:
        counted = files[:_FOOTERS]
        rows = sum(_counted(file, self._rows) for file in counted)
        size = sum(file.size for file in counted)
        others = sum(file.size for file in files[_FOOTERS:])
        return rows + (ceil(others * rows / size) if size else 0)

    def _listed(self, stream: str, settings: FolderFiles, *, settled: bool = False) -> Listing:
        known = self._folders.get(stream)
        if known is None or known[0].identity != settings.identity:
            self._folders[stream] = known = (settings, Listings(settings.folder, settings.pattern))
        try:
            return known[1].settled() if settled else known[1].newest()
        except OSError as error:
            raise Away(f"{settings.place}: {error}") from error


def _counted(file: Listed, known: dict[Listed, int]) -> int:
    """A Parquet file's rows; one for a file that cannot be read: its turn will tell."""
    try:
        return _parquet_rows(file, known)
    except (InputError, OSError):
        return 1


def _parquet_rows(file: Listed, known: dict[Listed, int]) -> int:
    if file not in known:
        place = f"{file.folder}/{file.name}"
        with opened_as(file) as content, opened(path_of(content), place) as parquet:
            known[file] = parquet.metadata.num_rows
    return known[file]


class _Batch:
    """What a batch takes of one stream's files."""

    def __init__(self, settings: FolderFiles, listing: Listing, rows: dict[Listed, int], share: int) -> None:
        self._settings = settings
        self._listing = listing
        self._rows = rows
        self._left = min(share, settings.most_per_batch or share)
        self._parts: list[list[Any]] = []
        self._faults: list[list[str]] = []

    def end(self, position: Position) -> Position | None:
        """Where it ends; None if there is nothing in it.

        Raises `InputError` for a faulty file, unless faulty ones are skipped.
        """
        begin = _Cursor.of(self._settings, position)
        cursor = self._on(self._checked(begin))
        files = self._listing.ready_behind(begin.name)[:_MOST_FILES]
        for file in files:
            if self._left <= 0 or not cursor.ended:
                break
            cursor = self._on(cursor.behind(file))
        if not self._parts and not self._faults and cursor == replace(begin, read=cursor.read):
            return None
        assert cursor.file is not None, "a batch without a file has no rows and no faults"
        return {
            "of": self._settings.identity,
            "folder": self._settings.folder,
            "format": self._settings.format,
            "file": [cursor.file.name, cursor.file.size, cursor.file.mtime_ns],
            "rows": cursor.row,
            "byte": cursor.byte,
            "ended": cursor.ended,
            "read": cursor.read,
            "parts": self._parts,
            "faults": self._faults,
        }

    def _checked(self, cursor: _Cursor) -> _Cursor:
        """Without marks of files that are gone, and with those of late ones.

        They are told before.
        """
        file = cursor.file
        if file is None:
            return cursor
        now = self._listing.find(file.name)
        if now is None and not cursor.ended:
            self._tell(gone(file.folder, file.name), file)
            cursor = replace(cursor, ended=True)
        elif now is not None and now != file and (not cursor.ended or self._is_complete(now)):
            self._tell(changed(file.folder, file.name, file.size, now.size), file)
            cursor = replace(cursor, file=now, ended=True)
        before = self._listing.before(file.name)
        known = {cursor.read[n : n + MARK_LENGTH] for n in range(0, len(cursor.read), MARK_LENGTH)}
        marks = []
        for earlier in before:
            if earlier.mark not in known:
                if not self._is_complete(earlier):
                    continue
                self._tell(late(file.folder, earlier.name, file.name), earlier)
            marks.append(earlier.mark)
        if len(marks) > _MOST_READ:
            raise InputError(
                "too-many-files",
                Place(self._settings.folder),
                f"{len(marks)} files that have been read",
                f"at most {_MOST_READ}: delete those that were read, or move them away",
            )
        return replace(cursor, read="".join(marks))

    def _is_complete(self, file: Listed) -> bool:
        return file.name in self._listing.complete

    def _on(self, cursor: _Cursor) -> _Cursor:
        """So far on in its file as there is room."""
        file = cursor.file
        if file is None or cursor.ended:
            return cursor
        try:
            if self._settings.format == "parquet":
                return self._on_in_parquet(file, cursor)
            return self._on_in_text(file, cursor)
        except InputError as fault:
            self._tell(fault, file)
            return replace(cursor, ended=True)

    def _on_in_parquet(self, file: Listed, cursor: _Cursor) -> _Cursor:
        there = _parquet_rows(file, self._rows)
        taken = min(there - cursor.row, self._left)
        self._take(file, cursor, taken, 0)
        return replace(cursor, row=cursor.row + taken, ended=cursor.row + taken == there)

    def _on_in_text(self, file: Listed, cursor: _Cursor) -> _Cursor:
        quotes = self._settings.format == "csv"
        with opened_as(file) as content:
            try:
                if quotes and cursor.byte == 0:
                    cursor = replace(cursor, byte=len(read_header(content, file.size)))
                    if cursor.byte == 0:
                        raise InputError("bad-file", _place(file), "an empty file", "a header line")
                while self._left > 0 and cursor.byte < file.size:
                    most = min(self._left, _PART_ROWS)
                    rows, end = taken_rows(content, cursor.byte, file.size, most, quotes=quotes)
                    self._take(file, cursor, rows, end)
                    cursor = replace(cursor, row=cursor.row + rows, byte=end)
            except LongRow as error:
                place = Place(f"{file.folder}/{file.name}", path=f"row {cursor.row + 1} or later")
                raise InputError("bad-file", place, str(error), f"a {self._settings.format} file") from error
        return replace(cursor, ended=cursor.byte == file.size)

    def _take(self, file: Listed, cursor: _Cursor, rows: int, end: int) -> None:
        if rows:
            self._left -= rows
            self._parts.append([file.name, file.size, file.mtime_ns, cursor.row, rows, cursor.byte, end])

    def _tell(self, fault: InputError, file: Listed) -> None:
        if self._settings.faulty == "fail":
            raise fault
        self._faults.append([file.name, f"{fault.found} ({fault.place})"])


def _place(file: Listed) -> Place:
    return Place(f"{file.folder}/{file.name}")
