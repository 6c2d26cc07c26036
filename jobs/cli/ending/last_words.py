"""One-line error messages of commands, with the traceback in a file."""

from __future__ import annotations

import os
import re
import sys
import traceback
from contextlib import suppress
from pathlib import Path

from jobs.failures.task_failure import told_by
from jobs.spark.process_loss import advice
from optimizer.algebra.errors import InputError

DEBUG = "MILLRACE_DEBUG"
"""The environment variable with which tracebacks are printed too."""
_RAISED = re.compile(r"^(?:[\w.]+\.)?(\w*(?:Error|Exception|Timeout|Invalid)\w*: .+)$", re.MULTILINE)
_MOST_CHARACTERS = 500
"""Of an error, so that it stays one line of a log."""


def one_line(error: BaseException) -> str:
    """What went wrong, on one line.

    Of an error that Spark reports from a task, it is what was raised there.

    >>> one_line(RuntimeError("Job aborted\\nTraceback:\\n  File x\\nValueError: no such task\\n\\tat java"))
    'ValueError: no such task'
    """
    text = str(error)
    if isinstance(error, InputError):
        return text
    told = told_by(text)
    raised = _RAISED.findall(text)
    if told is not None and told.where:
        text = str(told)
    elif raised:
        text = raised[-1]
    else:
        text = f"{type(error).__name__}: {text}"
    return " ".join(text.split())[:_MOST_CHARACTERS]


def tell(error: BaseException, log: Path | None) -> None:
    """Write what went wrong to stderr, and the traceback to `log` if it has a folder."""
    if os.environ.get(DEBUG):
        traceback.print_exception(error)
    where = ""
    if log is not None and log.parent.is_dir():
        # An error is told also where the disk is full.
        with suppress(OSError):
            log.write_text("".join(traceback.format_exception(error)), encoding="utf-8")
            where = f" (traceback: {log})"
    print(f"{one_line(error)}{where}", file=sys.stderr)
    if (more := advice(error)) is not None:
        print(more, file=sys.stderr)
