"""A query's newest results as a file, oldest first, as a stream is read."""

from __future__ import annotations

import csv
import io
import json

from backend.catalog.queries import Results

MOST_ROWS = 10_000
"""More than the job keeps of a query's results for the live tail."""


def to_csv(results: Results) -> str:
    """RFC 4180 with a header; NULL is an empty field."""
    written = io.StringIO()
    writer = csv.writer(written)
    names = [name for name, _ in results.columns]
    writer.writerow(names)
    writer.writerows([row.get(name) for name in names] for row in reversed(results.rows))
    return written.getvalue()


def to_json(results: Results) -> str:
    """One JSON object per line."""
    lines = [json.dumps(row, ensure_ascii=False) for row in reversed(results.rows)]
    return "".join(f"{line}\n" for line in lines)
