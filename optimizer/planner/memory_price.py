"""Plan within a memory limit: the price of memory at which a plan's state fits.

What an operator gives to a topology's stores is there to be used, so within it memory costs next to
nothing. Where the plan of least work needs more, memory gets a price, and the price rises until the plan
fits (a Lagrange multiplier, one for all components, that every method understands because its objective
has it already), or until it is that of state on disk, which is looked through in every batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import sqrt
from typing import NamedTuple, TypeVar

from optimizer.search.problem import MEMORY_PRICE

IDLE_PRICE = MEMORY_PRICE / 100
"""Cores per GB within the limit: decides between plans of equal work."""
DISK_SECONDS = 1.2
"""Processor seconds that a batch takes longer for each GB of state beyond the limit: four million tuples
within a fifth of their state (`make bench ONLY=memory`)."""
_STEPS = 5
"""Prices tried between the two ends; each halves the range of their logarithms."""
_CLOSE = 1.2
"""Prices nearer to each other than this are one."""

Made = TypeVar("Made")


@dataclass(frozen=True, slots=True)
class PricedMemory:
    """What a memory limit does to a plan."""

    limit_bytes: float
    held_bytes: float
    """State that the plan is expected to hold; beyond the limit it is on disk."""
    price: float
    """Cores per GB: what memory was worth when the plan was chosen."""
    more_bytes: float = 0.0
    """With so much more memory the next larger plan fits, of those that were tried."""
    saved_cores: float = 0.0
    """What that plan saves; 0 if there is none."""

    def __str__(self) -> str:
        """As operators read it.

        >>> print(PricedMemory(256e6, 212e6, 0.9, 44e6, 0.2))
        212 of 256 MB of memory, worth 0.9 cores per GB; with 44 MB more 0.2 cores less
        >>> print(PricedMemory(256e6, 300e6, 2.4))
        256 MB of memory and 44 MB on disk, worth 2.4 cores per GB
        """
        held, limit = self.held_bytes / 1e6, self.limit_bytes / 1e6
        there = f"{held:.4g} of {limit:.4g} MB of memory"
        if held > limit:
            there = f"{limit:.4g} MB of memory and {held - limit:.4g} MB on disk"
        more = f"; with {self.more_bytes / 1e6:.4g} MB more {self.saved_cores:.2g} cores less"
        return f"{there}, worth {self.price:.2g} cores per GB{more if self.saved_cores else ''}"


class Needs(NamedTuple):
    """What a plan takes."""

    cores: float
    held_bytes: float


class Within(NamedTuple):
    """A price to try, in cores per GB, and the share of the planning time for it."""

    price: float
    share: float


def plan_within(
    limit_bytes: float, batch_s: float, make: Callable[[Within], Made], needs: Callable[[Made], Needs]
) -> tuple[Made, PricedMemory]:
    """The plan of least work that fits a memory limit, by trying prices of memory.

    State that fits nowhere else is on disk, at its price.

    Args:
        limit_bytes: of state in memory.
        batch_s: seconds that a batch spans.
        make: plans at a price of memory.
        needs: what a plan takes.

    Raises whatever `make` does.

    >>> plans = {"wide": Needs(0.5, 3e9), "narrow": Needs(0.9, 1e9)}
    >>> def cheapest(within: Within) -> str:
    ...     return min(plans, key=lambda p: plans[p].cores + within.price * plans[p].held_bytes / 1e9)
    >>> made, budget = plan_within(2e9, 0.5, cheapest, plans.__getitem__)
    >>> made, budget.more_bytes, budget.saved_cores, round(budget.price, 2)
    ('narrow', 1000000000.0, 0.4, 0.22)
    >>> plan_within(4e9, 0.5, cheapest, plans.__getitem__)[0]
    'wide'
    """
    dear = DISK_SECONDS / batch_s
    tried: list[tuple[float, Made, Needs]] = []

    def fits(price: float, share: float) -> bool:
        made = make(Within(price, share))
        tried.append((price, made, needs(made)))
        return tried[-1][2].held_bytes <= limit_bytes

    rest = 0.5 / (_STEPS + 1)
    if not fits(IDLE_PRICE, 0.5) and fits(dear, rest):
        low, high = IDLE_PRICE, dear
        while high > _CLOSE * low and len(tried) < _STEPS + 2:
            middle = sqrt(low * high)
            low, high = (low, middle) if fits(middle, rest) else (middle, high)

    def cost(one: tuple[float, Made, Needs]) -> float:
        return one[2].cores + dear * max(0.0, one[2].held_bytes - limit_bytes) / 1e9

    price, best, takes = min(tried, key=lambda one: (cost(one), one[0]))
    larger = [n for _, _, n in tried if n.held_bytes > takes.held_bytes and n.cores < takes.cores]
    if not larger:
        return best, PricedMemory(limit_bytes, takes.held_bytes, price)
    # What an operator would give first.
    next_ = min(larger, key=lambda n: n.held_bytes)
    return best, PricedMemory(
        limit_bytes,
        takes.held_bytes,
        price,
        max(0.0, next_.held_bytes - limit_bytes),
        takes.cores - next_.cores,
    )
