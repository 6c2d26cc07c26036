"""Spark's Python workers, one of which needs more memory than there is, from batch FROM_BATCH on.

Named by the setting `spark.python.daemon.module`. MILLRACE_TEST_GREEDY says when: `round`, only while all
tasks of a batch run together, so that doing the batch again helps; `stage`, always.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from pyspark.daemon import manager

from jobs.spark.executors.barrier_batch import Round
from jobs.worker.task import JoinStage

FROM_BATCH = 2
_MORE_THAN_THERE_IS = 8 << 30


def _greedy(work: Callable[..., Any]) -> Callable[..., Any]:
    def call(self: Round | JoinStage, task: int, given: Any) -> Any:
        if task == 0 and self.context.batch >= FROM_BATCH:
            # Written to, or else the kernel would only promise it.
            held = b"x" * _MORE_THAN_THERE_IS
            raise AssertionError(f"{len(held)} bytes were there")
        return work(self, task, given)

    return call


if __name__ == "__main__":
    greedy: type[Round | JoinStage] = {"round": Round, "stage": JoinStage}[os.environ["MILLRACE_TEST_GREEDY"]]
    greedy.__call__ = _greedy(greedy.__call__)  # type: ignore[method-assign]
    manager()
