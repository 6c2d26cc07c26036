"""Looking again and again beside what is measured."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def polled(look: Callable[[], None], every_s: float, name: str) -> Iterator[None]:
    """Calls `look` in a thread of its own while the block runs.

    Args:
        look: is not called any more once the block has ended.
        every_s: seconds between two calls, and before the first.
        name: of the thread.
    """
    ended = threading.Event()

    def watch() -> None:
        while not ended.wait(every_s):
            look()

    thread = threading.Thread(target=watch, name=name)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
