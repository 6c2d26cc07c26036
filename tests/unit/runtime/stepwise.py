"""A thread of any speed, without a thread: work that is done when told, or when somebody waits for it."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Executor, Future
from functools import partial
from typing import Any


class Later(Future):
    def __init__(self, work: Callable[[], Any]) -> None:
        super().__init__()
        self._work = work

    def run(self) -> None:
        if self.set_running_or_notify_cancel():
            try:
                self.set_result(self._work())
            except Exception as error:
                self.set_exception(error)

    def result(self, timeout: float | None = None) -> Any:
        if not self.done():
            self.run()
        return super().result(timeout)


class Stepwise(Executor):
    def __init__(self) -> None:
        self._all: list[Later] = []

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Later:
        self._all.append(Later(partial(fn, *args, **kwargs)))
        return self._all[-1]

    def step(self, count: int) -> None:
        """Do so many of the pieces of work that are left, in their order."""
        for later in [later for later in self._all if not later.done()][:count]:
            later.run()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        for later in self._all:
            if cancel_futures:
                later.cancel()
            elif wait:
                later.result()
