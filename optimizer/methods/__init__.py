"""The optimization methods, by name.

| name | what it does | source |
|---|---|---|
| individual | every query's own optimum, nothing shared | baseline of section 7.3.3 |
| flat | each query's best orders over base stores, equal prefixes merged | Algorithm 1, Figure 6.7 |
| left-deep | materialized left-deep prefixes within the storage budget | Figure 5.6 |
| tree | materialized trees: left-deep, chains top-down, any shape by bounds | Figure 5.6, Algorithms 2, 3 |
| greedy | joint, by marginal cost, with local search | section 7.1's problem |
| ilp | joint optimum by integer programming, greedy as its first answer | section 7.1 |
"""

from __future__ import annotations

from optimizer.methods.heuristic.flat import Flat
from optimizer.methods.heuristic.greedy import Greedy
from optimizer.methods.heuristic.individual import Individual
from optimizer.methods.ilp.solve import Ilp
from optimizer.methods.trees.left_deep import LeftDeep
from optimizer.methods.trees.tree import TreeMethod
from optimizer.search.problem import Method

_ALL: tuple[Method, ...] = (Individual(Ilp()), Flat(), LeftDeep(), TreeMethod(), Greedy(), Ilp())

METHODS: dict[str, Method] = {method.name: method for method in _ALL}
