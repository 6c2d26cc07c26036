"""Functions that a tuple or a pair of tuples makes raise, or end the process that calls them."""

from __future__ import annotations

import os

import pyarrow as pa

FATAL_R, REFUSED_R = 177, 155
FATAL_PAIR = (42, 42)
PAIR = 10_000
"""A pair is the number `r * PAIR + s`."""
FUNCTIONS = f"""\
functions:
  exits: {{call: "{__name__}:exits", arguments: [bigint], returns: bigint, cost_us: 1}}
  refuses: {{call: "{__name__}:refuses", arguments: [bigint], returns: bigint, cost_us: 1}}
"""


def exits(numbers: pa.Array) -> pa.Array:
    """As a library does that was written in C and has a bug."""
    if {FATAL_R, FATAL_PAIR[0] * PAIR + FATAL_PAIR[1]} & set(numbers.to_pylist()):
        os._exit(1)
    return numbers


def refuses(numbers: pa.Array) -> pa.Array:
    if REFUSED_R in numbers.to_pylist():
        raise ValueError("not this one")
    return numbers
