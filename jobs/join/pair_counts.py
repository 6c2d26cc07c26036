"""How many pairs of tuples have equal keys, before they are formed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import polars as pl

from jobs.join.probe_plan import ProbePlan, plan_of
from jobs.plan.index import RuleIndex
from jobs.plan.per_plan import PerPlan
from optimizer.algebra.expression import Expression
from optimizer.physical.rules import ProbeRule

_SAMPLED_STORED = 2_000
"""Stored tuples from which it is told how often keys repeat."""


@dataclass(frozen=True, slots=True)
class Repetition:
    """The probability, from one batch, that two tuples of a store have equal keys."""

    batch: int
    probability: float


_REPETITIONS: PerPlan[dict[tuple[str, tuple[Expression, ...]], Repetition]] = PerPlan(dict)
"""How often keys of a store coincide."""


def coincidence(index: RuleIndex, rule: ProbeRule, batch: int, stored: pl.DataFrame) -> float:
    """The probability that an arriving tuple and a stored one have equal keys.

    It is that of two stored ones, as if both sides were alike. What was found for one rule holds for all
    rules of the batch that join the store on the same.
    """
    keys = (rule.store, tuple(equality.stored for equality in rule.equalities))
    known = _REPETITIONS[index].get(keys)
    if known is None or known.batch != batch:
        probability = _sampled_coincidence(stored, plan_of(index, rule).stored_keys)
        known = _REPETITIONS[index][keys] = Repetition(batch, probability)
    return known.probability


def _sampled_coincidence(stored: pl.DataFrame, keys: Sequence[str]) -> float:
    """The probability that two tuples have equal keys, judged by a sample.

    Of k sampled keys, k * (k - 1) / 2 pairs coincide with the probability sum(p * p) over the
    keys' frequencies p: Alon, Matias, Szegedy, STOC 1996, section 2.2, on the second frequency moment.
    """
    sample = stored[:: max(1, stored.height // _SAMPLED_STORED)]
    if sample.height < 2:
        return 1.0
    found = sample.select(pl.col(key).alias(str(i)) for i, key in enumerate(keys)).drop_nulls()
    _, counts = np.unique(found.hash_rows().to_numpy(), return_counts=True)
    return float((counts * (counts - 1)).sum()) / (sample.height * (sample.height - 1))


def counted_pairs(plan: ProbePlan, arriving: pl.DataFrame, stored: pl.DataFrame) -> int:
    """How many pairs have equal keys."""
    names = [str(number) for number in range(len(plan.probe_keys))]

    def counted(frame: pl.DataFrame, keys: Sequence[str], count: str) -> pl.LazyFrame:
        values = [pl.col(key).alias(name) for name, key in zip(names, keys, strict=True)]
        return frame.lazy().select(values).group_by(names).agg(pl.len().cast(pl.Float64).alias(count))

    both = counted(arriving, plan.probe_keys, "arriving").join(
        counted(stored, plan.stored_keys, "stored"), on=names
    )
    return int(both.select((pl.col("arriving") * pl.col("stored")).sum()).collect().item())
