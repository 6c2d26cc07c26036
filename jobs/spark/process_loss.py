"""What to tell a person when another process of a run was ended from outside."""

from __future__ import annotations

_SIGNS = (
    ("Python worker exited unexpectedly", "a Python worker"),
    ("Answer from Java side is empty", "Java"),
    ("trying to connect to the Java server", "Java"),
)
"""What Spark and Py4J say of a process that is gone, and which one it is."""


def advice(error: BaseException) -> str | None:
    """One line on a lost process that `error` or its cause tells of, or None.

    >>> advice(RuntimeError("Answer from Java side is empty"))[:42]
    'Java, a process of this run, was ended fro'
    """
    told: BaseException | None = error
    while told is not None:
        for sign, process in _SIGNS:
            if sign in str(told):
                return (
                    f"{process}, a process of this run, was ended from outside, most often by the kernel, "
                    "out of memory: --memory-limit bounds what of the stores is in memory, --batch-rows what "
                    "each batch adds; run the same command again to continue"
                )
        told = told.__cause__ or told.__context__
    return None
