"""Fit coefficients to measured batches: non-negative least squares."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import numpy.typing as npt

from optimizer.estimate import Loads
from optimizer.search.coefficients import Coefficients
from optimizer.search.pricing import CORES, Processor

NAMES = tuple(field.name for field in fields(Coefficients))


@dataclass(frozen=True, slots=True)
class Observed:
    """A plan that ran: what its elements do, and what that took."""

    name: str
    loads: Loads
    batch_s: float
    cores: float


def work(loads: Loads, batch_s: float, coefficients: Coefficients) -> float:
    """Cores that a plan takes, the batches as such included."""
    pricing = Processor(coefficients, batch_s, 0.0)
    return CORES * (loads.cost(pricing) + pricing.batches)


def fitted(observed: Sequence[Observed]) -> Coefficients:
    """The coefficients whose estimates are the least off.

    What counts is by how much of what was measured.

    The cost is linear in its coefficients, so that what each explains is the cost with it alone at one.
    """
    one_each = [replace(Coefficients(), **{name: 1.0}) for name in NAMES]
    shares = np.array(
        [[work(one.loads, one.batch_s, unit) / one.cores for unit in one_each] for one in observed]
    )
    found = non_negative(shares, np.ones(len(observed)))
    return Coefficients(**dict(zip(NAMES, map(float, found), strict=True)))


def non_negative(matrix: npt.NDArray[np.float64], wanted: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """The x of at least zero with the least |matrix x - wanted|.

    Lawson, Hanson, *Solving Least Squares Problems*, 1974, chapter 23.

    >>> non_negative(np.array([[1.0, 1.0], [1.0, 2.0]]), np.array([2.0, 1.0])).round(3).tolist()
    [1.5, 0.0]
    """
    scale = np.linalg.norm(matrix, axis=0)
    scaled = matrix / np.where(scale > 0, scale, 1.0)
    inside = np.zeros(matrix.shape[1], dtype=bool)
    found = np.zeros(matrix.shape[1])
    while True:
        gradient = np.where(inside, -np.inf, scaled.T @ (wanted - scaled @ found))
        if inside.all() or gradient.max() <= 1e-9:
            return found / np.where(scale > 0, scale, 1.0)
        inside[gradient.argmax()] = True
        while True:
            best = np.zeros_like(found)
            best[inside] = np.linalg.lstsq(scaled[:, inside], wanted, rcond=None)[0]
            negative = inside & (best <= 0)
            if not negative.any():
                found = best
                break
            step = (found[negative] / (found[negative] - best[negative])).min()
            found = found + step * (best - found)
            inside &= found > 1e-12
