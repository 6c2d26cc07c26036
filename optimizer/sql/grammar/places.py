"""Positions in SQL text, as errors report them."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

from sqlglot import exp

from optimizer.algebra.errors import InputError, Place

_LINE_END = re.compile(r"\r\n|\r|\n")


class SourceText:
    """A text, the name of where it comes from, and the places of its parts.

    >>> str(SourceText("a\\nbc", "q.sql").place(3, 4))
    'q.sql:2:2'
    """

    def __init__(self, text: str, source: str) -> None:
        self.text = text
        self.source = source
        self._starts = [0, *(match.end() for match in _LINE_END.finditer(text))]

    def place(self, start: int, end: int) -> Place:
        """The place of `text[start:end]`; what crosses a line end is underlined up to it."""
        start = max(0, min(start, len(self.text)))
        line = bisect_right(self._starts, start)
        origin = self._starts[line - 1]
        last = self._starts[line] if line < len(self._starts) else len(self.text)
        visible = len(self.text[origin:last].rstrip("\r\n"))
        end_column = min(max(end, start + 1) - origin, max(visible, start - origin + 1)) + 1
        return Place(self.source, line, start - origin + 1, end_column)

    def offset(self, line: int, column: int) -> int:
        """The offset of a line and column, both from 1.

        >>> SourceText("a\\nbc", "q.sql").offset(2, 2)
        3
        """
        return self._starts[line - 1] + column - 1

    def end(self) -> Place:
        """The place behind the last visible character."""
        length = len(self.text.rstrip())
        return self.place(length, length)

    def error(
        self,
        span: tuple[int, int] | None,
        code: str,
        found: str,
        expected: str,
        suggestion: str | None = None,
    ) -> InputError:
        """An error under `text[span]`; without a span, under the whole text's beginning."""
        place = self.place(*span) if span else self.place(0, len(self.text))
        return InputError(code, place, _one_line(found), expected, suggestion)


def _one_line(found: str) -> str:
    """Text that fits into one line of a terminal: no control characters, not too long."""
    visible = "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in " ".join(found.split()))
    return visible if len(visible) <= 80 else visible[:79] + "…"


def span_of(node: exp.Expr) -> tuple[int, int] | None:
    """The start and exclusive end of a node's text, as far as its tokens are known."""
    spans = list(_spans(node))
    if not spans:
        return None
    return min(start for start, _ in spans), max(end for _, end in spans)


def _spans(node: exp.Expr) -> Iterator[tuple[int, int]]:
    for part in node.walk():
        start, end = part.meta.get("start"), part.meta.get("end")
        if isinstance(start, int) and isinstance(end, int):
            yield start, end + 1
