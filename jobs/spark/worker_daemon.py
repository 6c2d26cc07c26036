"""What Spark forks its Python workers from, on one host.

Spark's own daemon knows Spark alone, and every worker that it forks imports everything else for itself. This
one imports first and forks then: what nobody changes afterwards is in memory once.

A fork takes along the locks of all threads but none of the threads. So nothing is imported here that starts
one, as Arrow and Polars do.
"""

from __future__ import annotations

import gc
from importlib import import_module

from pyspark.daemon import manager

_SHARED = ("numpy", "optimizer.physical.graph", "pydantic", "pyspark.worker", "redis", "yaml")


def load() -> None:
    """Import what workers need and share, out of the garbage collector's sight.

    A collection in a worker writes to all objects that it sees, and a page that is written to is no longer
    shared.
    """
    for name in _SHARED:
        import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    load()
    manager()
