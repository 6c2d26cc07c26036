"""Functions by import path."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from importlib import import_module

Implementation = Callable[..., object]
"""Takes one Arrow array per argument, all of one length and without NULL; gives as many answers, as
an Arrow array, a NumPy array or a sequence, NULL or None where there is none."""


@cache
def load(path: str) -> Implementation:
    """The function at `package.module:name`.

    >>> import pyarrow as pa
    >>> load("optimizer.udf.library.text:similarity")(pa.array(["ab"]), pa.array(["ab"])).tolist()
    [1.0]

    Raises `ImportError`, `AttributeError`, or `TypeError` if what is there cannot be called.
    """
    module, _, name = path.partition(":")
    found = getattr(import_module(module), name)
    if not callable(found):
        raise TypeError(f"{path} is no function")
    implementation: Implementation = found
    return implementation
