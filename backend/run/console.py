"""The supervisor's console: one plain line per event and part."""

from __future__ import annotations

import os
import sys
import threading

_LOCK = threading.Lock()


def say(part: str, what: str) -> None:
    """Write one line to the console.

    A console that is gone (a closed terminal, a pipe without a reader) cannot be told, and is no reason to
    end.
    """
    with _LOCK:
        try:
            sys.stdout.write(f"{part:<10} {what}".rstrip() + "\n")
            sys.stdout.flush()
        except OSError:
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, sys.stdout.fileno())
            os.close(nowhere)
