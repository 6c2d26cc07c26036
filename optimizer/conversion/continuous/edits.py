"""Edits of a text that know where each of its places came from."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from optimizer.algebra.errors import InputError, Place
from optimizer.sql.grammar.places import SourceText


@dataclass(frozen=True, slots=True)
class Edit:
    """What stands in the place of `text[start:end]`."""

    start: int
    end: int
    written: str


class EditedText:
    """A text with edits that do not overlap.

    Of several at one place the first stands first.

    >>> edited = EditedText(SourceText("SELECT k FROM a", "q"), [Edit(15, 15, " [RANGE 1 HOUR]")])
    >>> edited.text
    'SELECT k FROM a [RANGE 1 HOUR]'
    """

    def __init__(self, source: SourceText, edits: Iterable[Edit]) -> None:
        self._source = source
        self._edits = sorted(edits, key=lambda edit: (edit.start, edit.end))
        parts: list[str] = []
        at = 0
        for edit in self._edits:
            assert edit.start >= at, "edits do not overlap"
            parts += (source.text[at : edit.start], edit.written)
            at = edit.end
        self.text = "".join([*parts, source.text[at:]])

    def original(self, error: InputError) -> InputError:
        """An error of the edited text at its place in the original one.

        >>> edited = EditedText(SourceText("SELECT k FROM a WHERE x", "q"), [Edit(15, 15, " AS b")])
        >>> place = SourceText(edited.text, "q").place(27, 28)
        >>> str(edited.original(InputError("unknown-column", place, "column x", "a column of b")).place)
        'q:1:23'
        """
        place = error.place
        if place.source != self._source.source or place.line is None or place.column is None:
            return error
        edited = SourceText(self.text, self._source.source)
        start = edited.offset(place.line, place.column)
        end = start + 1 if place.end_column is None else edited.offset(place.line, place.end_column)
        moved: Place = self._source.place(self._before(start), self._before(end))
        return InputError(error.code, moved, error.found, error.expected, error.suggestion)

    def _before(self, offset: int) -> int:
        """The offset in the original text; of what was written, that of its edit."""
        shift = 0
        for edit in self._edits:
            start = edit.start + shift
            if offset < start:
                break
            if offset < start + len(edit.written):
                return edit.start
            shift += len(edit.written) - (edit.end - edit.start)
        return offset - shift
