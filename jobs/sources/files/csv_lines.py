"""The lines of a CSV file as bytes.

Every line is there, also one that no table has a place for.
"""

from __future__ import annotations

import codecs
import secrets
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
import numpy.typing as npt
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv

from optimizer.algebra.errors import InputError, Place

_BLOCK_BYTES = 16 << 20
"""Read at once; a line, or a quoted value, cannot be longer."""


@dataclass(frozen=True, slots=True)
class Misfit:
    """A row that has too few or too many fields."""

    number: int
    """As in `Lines.numbers`."""
    reason: str
    text: str


@dataclass(frozen=True, slots=True)
class Lines:
    """A block of a file."""

    fields: pl.DataFrame
    """The rows that have as many fields as the header, as bytes; NULL for an empty field."""
    numbers: npt.NDArray[np.int64]
    """Which of the file's rows each of them is. The header is 1, and a row is a line unless a quoted value
    goes over several."""
    misfits: tuple[Misfit, ...]


class CsvLines:
    """Reads a file, and knows whether its last line came to its end.

    A row with one field too many is put behind the file. If that does not come out at the end, a quote that
    was never closed has swallowed it, with everything since that quote.
    """

    def __init__(self, named: str, names: list[str], opening: Callable[[], BinaryIO]) -> None:
        self._named = named
        self._names = names
        self._opening = opening
        self._encoding = "utf8" if _is_utf8(opening) else "latin1"
        self._end = f"{secrets.token_hex(16)}{',' * len(names)}"
        self._misfits: list[Misfit] = []

    def blocks(self) -> Iterator[Lines]:
        """All rows behind the header.

        Raises `InputError` for a file that cannot be taken apart into rows.
        """
        number = 2
        last = b""
        file = _FileWithEnd(self._opening(), self._end.encode())
        try:
            with self._open(file) as reader:
                for batch in reader:
                    fields = self._as_bytes(pl.DataFrame(pl.from_arrow(batch)))
                    numbers = self._next_numbers(number, fields.height)
                    if fields.height:
                        number = int(numbers[-1]) + 1
                        last = b"".join(value or b"" for value in fields.row(-1))
                    yield Lines(fields, numbers, self._taken(below=number))
        except (pa.ArrowInvalid, OSError) as error:
            place, found = Place(self._named), " ".join(str(error).split())[:160]
            if "straddl" in found:
                place = Place(self._named, path=f"row {number} or later")
                found = f"a line longer than {_BLOCK_BYTES} bytes, or a quote that is not closed"
            raise InputError("bad-file", place, found, "a CSV file") from error
        finally:
            file.close()
        if not self._misfits or self._misfits[-1].text != self._end:
            swallowed = self._misfits[-1].text.encode() if self._misfits else last
            line = file.lines - swallowed.count(b"\n") + 1
            raise InputError(
                "open-quote",
                Place(self._named, line=max(1, line)),
                "a quote that is not closed before the end of the file",
                "a closing quote",
            )
        self._misfits.pop()
        empty = pl.DataFrame(schema=dict.fromkeys(self._names, pl.Binary))
        yield Lines(empty, np.empty(0, np.int64), tuple(self._misfits))

    def _open(self, file: _FileWithEnd) -> pacsv.CSVStreamingReader:
        return pacsv.open_csv(
            pa.PythonFile(file, mode="r"),
            # Bytes that are no UTF-8 come through as characters of Latin-1, each of which is a byte.
            read_options=pacsv.ReadOptions(
                use_threads=False,
                column_names=self._names,
                skip_rows_after_names=1,
                block_size=_BLOCK_BYTES,
                encoding=self._encoding,
            ),
            parse_options=pacsv.ParseOptions(
                newlines_in_values=True, ignore_empty_lines=False, invalid_row_handler=self._keep
            ),
            convert_options=pacsv.ConvertOptions(
                column_types=dict.fromkeys(self._names, pa.binary()),
                null_values=[""],
                strings_can_be_null=True,
                quoted_strings_can_be_null=True,
            ),
        )

    def _keep(self, row: pacsv.InvalidRow) -> str:
        text = row.text
        if self._encoding == "latin1":
            text = text.encode("latin1").decode("utf-8", "replace")
        reason = f"{row.actual_columns} fields instead of {row.expected_columns}"
        self._misfits.append(Misfit(row.number, reason, text))
        return "skip"

    def _as_bytes(self, fields: pl.DataFrame) -> pl.DataFrame:
        if self._encoding == "utf8":
            return fields
        return pl.DataFrame(
            [
                pl.Series(
                    column.name, [v if v is None else v.decode().encode("latin1") for v in column], pl.Binary
                )
                for column in fields
            ]
        )

    def _next_numbers(self, number: int, rows: int) -> npt.NDArray[np.int64]:
        """The numbers of the next rows.

        Misfits behind them may be known too, as the reader is ahead.
        """
        misfits = [one.number for one in self._misfits]
        numbers = np.setdiff1d(np.arange(number, number + rows + len(misfits)), misfits, assume_unique=True)
        return numbers[:rows]

    def _taken(self, below: int) -> tuple[Misfit, ...]:
        """Misfits that lie before a row; they are told once."""
        taken = tuple(one for one in self._misfits if one.number < below)
        self._misfits = [one for one in self._misfits if one.number >= below]
        return taken


class _FileWithEnd:
    """A file and, on a line of its own, something behind it, for pyarrow to read."""

    closed = False

    def __init__(self, file: BinaryIO, end: bytes) -> None:
        self._file = file
        self._end = end
        self._last = b"\n"
        self.lines = 0
        """Line ends of the file, the missing one of its last line counted too."""

    def read(self, size: int) -> bytes:
        block = self._file.read(size)
        self.lines += block.count(b"\n")
        if len(block) == size:
            self._last = block[-1:]
            return block
        if self._end and (block[-1:] or self._last) not in (b"\r", b"\n"):
            self.lines += 1
            self._end = b"\n" + self._end
        self._last = b"\n"
        # In one block as far as it goes: pyarrow wants the header, and the end of its line, in the first.
        more = size - len(block)
        block, self._end = block + self._end[:more], self._end[more:]
        return block

    def close(self) -> None:
        self._file.close()

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return False

    def seekable(self) -> bool:
        return False


def _is_utf8(opening: Callable[[], BinaryIO]) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        with opening() as file:
            while block := file.read(_BLOCK_BYTES):
                decoder.decode(block)
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return False
    return True
