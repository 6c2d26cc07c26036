"""What a task or the planning process refused, out of what Spark says of it."""

from __future__ import annotations

import re

from optimizer.algebra.errors import InputError

_REFUSED = re.compile(rf"{re.escape(InputError.__module__)}\.InputError: (.+)$", re.MULTILINE)


def refusal(error: BaseException) -> str | None:
    """The line of an `InputError` raised in another process, or None.

    >>> told = "Job aborted\\noptimizer.algebra.errors.InputError: r/a: found b, expected c\\n  at x"
    >>> refusal(RuntimeError(told))
    'r/a: found b, expected c'
    """
    told: BaseException | None = error
    while told is not None:
        if (found := _REFUSED.search(str(told))) is not None:
            return found[1].strip()
        told = told.__cause__ or told.__context__
    return None
