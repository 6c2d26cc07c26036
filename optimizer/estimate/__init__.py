"""What a graph does under given statistics, and what that costs.

A plan is chosen for the statistics of its day. To compare the plan in use with another one, both
are estimated under the same statistics, from the graph alone: so it works for any plan, whoever made
it and however long ago.
"""

from optimizer.estimate.cores import ExpectedCores, expected_cores
from optimizer.estimate.flow import Estimated, estimate
from optimizer.estimate.loads import Loads, cost_of, loads
from optimizer.estimate.shares import Shares, shares

__all__ = [
    "Estimated",
    "ExpectedCores",
    "Loads",
    "Shares",
    "cost_of",
    "estimate",
    "expected_cores",
    "loads",
    "shares",
]
