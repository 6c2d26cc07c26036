"""The coefficients of processor time, with the shipped defaults."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Coefficients:
    """Microseconds of processor time, as `python -m jobs calibrate` measures them.

    A task-batch is one batch in one task in which there is something to do.
    """

    batch: float = 0.0
    """Per batch: the driver's part and the commit."""
    read: float = 0.0
    """Per tuple read."""
    read_byte: float = 0.0
    stream: float = 0.0
    """Per stream and batch in which it has tuples."""
    source: float = 0.0
    """Per filter of a stream and task-batch."""
    step: float = 0.0
    """Per step and task-batch."""
    arriving: float = 0.0
    """Per tuple that arrives at a step, copies counted."""
    arriving_byte: float = 0.0
    check: float = 0.0
    """Per step and task-batch that checks more than keys and windows."""
    looked: float = 0.0
    """Per stored tuple that a step looks through, in every batch again."""
    pair: float = 0.0
    """Per pair with equal keys."""
    made: float = 0.0
    """Per tuple that a step makes."""
    made_byte: float = 0.0
    store: float = 0.0
    """Per copy of a store and task-batch: a run is written and made durable."""
    insert: float = 0.0
    """Per tuple into a stream's store."""
    insert_byte: float = 0.0
    """Per byte into any store."""
    keep: float = 0.0
    """Per tuple into a materialized result: sorted, indexed, compacted, evicted."""
    keep_run: float = 0.0
    """Per materialized result and task-batch, beyond `store`: its runs are merged and expire by the tuple."""
    leaf: float = 0.0
    """Per query, input and task-batch with results."""
    result: float = 0.0
    """Per result."""
    result_byte: float = 0.0


COEFFICIENTS = Coefficients(
    batch=1011.0,
    read=0.02864,
    read_byte=0.00126,
    stream=63.94,
    source=233.1,
    step=374.1,
    arriving=0.02341,
    check=278.1,
    looked=0.0122,
    pair=0.01346,
    store=819.9,
    insert_byte=0.001917,
    keep=0.197,
    keep_run=2404.0,
    leaf=265.3,
    result=0.01514,
    result_byte=0.0008994,
)
"""Measured on one core of an AMD EPYC, with other work beside it."""
