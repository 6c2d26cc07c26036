"""Where the rows of CSV and JSON lines begin, whatever is in them.

In CSV a quoted value may go over several lines. A quote counts only where a field begins, as pyarrow has it,
which reads the rows afterwards: both must agree on every byte.
"""

from __future__ import annotations

import re
from codecs import BOM_UTF8
from typing import BinaryIO

_BLOCK_BYTES = 1 << 20
MOST_BYTES = 16 << 20
"""A row cannot be longer."""

_REST = rb'[^"]*+(?:""[^"]*+)*+"'
"""What is behind a value's opening quote, to its closing one."""
_FIELD = rb'(?:"' + _REST + rb'[^,]*+|[^",][^,]*+|)'
_CLOSING = re.compile(_REST)
_FIELDS = re.compile(_FIELD + rb"(?:," + _FIELD + rb")*+")
_FIELDS_BEHIND_QUOTE = re.compile(rb"[^,]*+(?:," + _FIELD + rb")*+")


class LongRow(ValueError):
    """A row is longer than may be, or a quote is not closed."""


def taken_rows(file: BinaryIO, begin: int, end: int, most: int, *, quotes: bool) -> tuple[int, int]:
    """How many rows, up to a number, lie between two bytes, and where the next begins.

    >>> from io import BytesIO
    >>> taken_rows(BytesIO(b'1,"a\\nb"\\n2,c\\n3,d'), 0, 15, 2, quotes=True)
    (2, 12)

    Raises `LongRow`; also for a quote that is open at the end.
    """
    rows, at, read = 0, begin, begin
    rest = b""
    file.seek(begin)
    while rows < most and at < end:
        block = file.read(min(_BLOCK_BYTES, end - read))
        if not block:
            # A file that is shorter than it was; whoever opened it will tell.
            break
        read += len(block)
        rest += block
        lengths = _lengths(rest, last=read == end, quotes=quotes)[: most - rows]
        rows += len(lengths)
        taken = sum(lengths)
        at += taken
        rest = rest[taken:]
        if rows < most and len(rest) > MOST_BYTES:
            raise LongRow(f"a row longer than {MOST_BYTES} bytes, or a quote that is not closed")
        if rows < most and read == end and rest:
            raise LongRow("a quote that is not closed before the end of the file")
    return rows, at


def read_header(file: BinaryIO, size: int) -> bytes:
    """The first row of a CSV file, with its end; nothing in an empty file.

    Raises `LongRow`.
    """
    file.seek(0)
    # Behind a mark of the encoding a quote is one at the beginning of a field.
    begin = len(BOM_UTF8) if file.read(len(BOM_UTF8)) == BOM_UTF8 else 0
    _, end = taken_rows(file, begin, size, 1, quotes=True)
    file.seek(0)
    return file.read(end)


def _lengths(data: bytes, *, last: bool, quotes: bool) -> list[int]:
    """The lengths of the whole rows that data begin with."""
    if not quotes:
        lines = data.split(b"\n")
        lengths = [len(line) + 1 for line in lines[:-1]]
        return [*lengths, len(lines[-1])] if last and lines[-1] else lengths
    ends = data.splitlines(keepends=True)
    if not last and ends and not ends[-1].endswith(b"\n"):
        # Behind a \r there may be the \n that belongs to it.
        ends.pop()
    if b'"' not in data:
        return [len(line) for line in ends]
    lengths, open_bytes, is_open = [], 0, False
    for line in ends:
        open_bytes += len(line)
        begins = 0
        if is_open:
            closing = _CLOSING.match(line)
            if closing is None:
                continue
            begins = closing.end()
        whole = (_FIELDS_BEHIND_QUOTE if is_open else _FIELDS).match(line, begins)
        is_open = whole is None or whole.end() < len(line)
        if not is_open:
            lengths.append(open_bytes)
            open_bytes = 0
    return lengths
