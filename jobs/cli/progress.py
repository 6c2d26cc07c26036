"""A progress bar, on terminals only."""

from __future__ import annotations

import time
from typing import TextIO

_BAR_CHARACTERS = 30


class Progress:
    """Shows how much of a known number of tuples is done."""

    def __init__(self, total: int, out: TextIO) -> None:
        self._total = total
        self._out = out if out.isatty() else None
        self._began = time.monotonic()
        self._first: int | None = None

    def show(self, done: int, results: int) -> None:
        if self._out is None:
            return
        if self._first is None:
            self._first, self._began = done, time.monotonic()
        seconds = time.monotonic() - self._began
        rate = (done - self._first) / seconds if seconds > 0 else 0.0
        filled = _BAR_CHARACTERS * done // self._total if self._total else _BAR_CHARACTERS
        bar = "█" * filled + "░" * (_BAR_CHARACTERS - filled)
        share = done / self._total if self._total else 1.0
        text = f"{bar} {share:4.0%}  {done:,} of {self._total:,} tuples"
        if rate:
            text += f"  {rate:,.0f}/s"
        self._out.write(f"\r\x1b[2K{text}  {results:,} results")
        self._out.flush()

    def close(self) -> None:
        if self._out is not None and self._first is not None:
            self._out.write("\n")
            self._out.flush()
