"""`python -m jobs archive`: archive the classes that Spark loads."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from jobs.cli.options import Parser
from jobs.cli.replay import replay
from jobs.cli.replay_options import add_replay_options
from jobs.spark.class_archive import ARCHIVE, archived

_STREAMS = """streams:
  orders: {event_time: at, columns: {at: timestamp, item: bigint}}
  payments: {event_time: at, columns: {at: timestamp, item: bigint}}
"""
_QUERY = """SELECT o.item FROM orders [RANGE 1 MINUTE] AS o, payments [RANGE 1 MINUTE] AS p
WHERE o.item = p.item
"""
_ROWS = "at,item\n" + "".join(f"2026-01-01T00:00:{second:02}Z,{second}\n" for second in range(60))


def archive_classes() -> int:
    """Write the archive that Spark starts from on this machine; returns the exit code."""
    with tempfile.TemporaryDirectory(prefix="millrace-archive-") as folder:
        root = Path(folder)
        files = {
            "streams.yaml": _STREAMS,
            "queries/paid.sql": _QUERY,
            "data/orders/1.csv": _ROWS,
            "data/payments/1.csv": _ROWS,
        }
        for name, text in files.items():
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            (root / name).write_text(text, encoding="utf-8")
        parser = Parser()
        add_replay_options(parser)
        words = [folder, "--data", f"{folder}/data", "--out", f"{folder}/out", "--batch-rows", "20"]
        with (
            archived(),
            Path(os.devnull).open("w") as nowhere,
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            replay(parser.parse_args(words))
    print(f"{ARCHIVE}: {ARCHIVE.stat().st_size / 1e6:.0f} MB")
    return 0
