"""A query's newest results as a file, oldest first, as a stream is read."""

from __future__ import annotations

import csv
import io
import json
import re

from backend.live.results.newest import Results

MOST_ROWS = 10_000
"""More than the job keeps of a query's results for the live tail."""
_FORMULA = re.compile(r"\s*[=+\-@\uff1d\uff0b\uff0d\uff20]|[\t\r\n]")
"""What spreadsheets take for the beginning of a formula, in its full-width spelling too."""
_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")


def to_csv(results: Results) -> str:
    """RFC 4180 with a header.

    NULL is an empty field, and no text is a formula to a spreadsheet.
    """
    written = io.StringIO()
    writer = csv.writer(written)
    names = [name for name, _ in results.columns]
    writer.writerow([as_text(name) for name in names])
    writer.writerows([as_text(row.get(name)) for name in names] for row in reversed(results.rows))
    return written.getvalue()


def as_text(value: object) -> object:
    """The value as a CSV field; an apostrophe keeps spreadsheets from calculating it.

    A text that is a number in every spreadsheet is left alone. OWASP, CSV Injection.

    >>> as_text("=1+1"), as_text("-1.5"), as_text(-1.5), as_text("- late")
    ("'=1+1", '-1.5', -1.5, "'- late")
    """
    if isinstance(value, str) and _FORMULA.match(value) and not _NUMBER.fullmatch(value):
        return f"'{value}"
    return value


def to_json(results: Results) -> str:
    """One JSON object per line."""
    lines = [json.dumps(row, ensure_ascii=False) for row in reversed(results.rows)]
    return "".join(f"{line}\n" for line in lines)
