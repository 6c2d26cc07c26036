"""Choose which filters of a stream get base stores of their own.

The probes of them are given.

One store for all is written once, but every probe looks through what any filter passes. For each
stream the cheaper division is found: filters begin apart and neighbours, by the tuples that they pass, come
together as long as that saves something; one store for all is weighed beside it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod

from optimizer.formulate.base_stores import SeparateStores, filter_key
from optimizer.formulate.model import Translation
from optimizer.formulate.source_load import union_source
from optimizer.lower.probe_forest import Forest, Node
from optimizer.lower.store_layouts import StreamCopies
from optimizer.search.cost_model import CostModel, lasting_s
from optimizer.search.pricing import CopyLoad
from optimizer.search.problem import Options, Relation
from optimizer.search.widths import POSITION_BYTES

_GAIN = 1e-9
"""Relative: less is rounding."""


def separate(forest: Forest, options: Options) -> SeparateStores:
    """Divide every stream's filters into stores where that is cheaper than one.

    Args:
        forest: with probes of the stores as they are now; orders stay.
        options: what storing and probing costs.
    """
    probes: dict[str, dict[str, list[Node]]] = defaultdict(lambda: defaultdict(list))
    relations: dict[str, dict[str, list[Relation]]] = defaultdict(lambda: defaultdict(list))
    for relation in forest.translation.problem.relations:
        occurrence = forest.occurrences[relation.id]
        relations[occurrence.stream][filter_key(occurrence)].append(relation)
    for node in forest.nodes():
        if node.store is not None and node.store.stream is not None:
            occurrence = forest.occurrences[forest.probed(node)]
            probes[occurrence.stream][filter_key(occurrence)].append(node)
    found: dict[str, tuple[frozenset[str], ...]] = {}
    for stream in sorted(relations):
        if len(relations[stream]) > 1:
            groups = _Division(forest, options, stream, relations[stream], probes[stream]).best()
            if len(groups) > 1:
                # The widest keeps the stream's name: what comes later joins it.
                found[stream] = tuple(sorted(groups[:-1], key=sorted))
    return found


def all_separate(translation: Translation) -> SeparateStores:
    """Every filter of every stream with a store of its own."""
    filters: dict[str, set[str]] = defaultdict(set)
    occurrences = translation.occurrences
    for relation in translation.problem.relations:
        occurrence = occurrences[relation.id]
        filters[occurrence.stream].add(filter_key(occurrence))
    return {
        stream: tuple(frozenset({key}) for key in sorted(keys))
        for stream, keys in sorted(filters.items())
        if len(keys) > 1
    }


def least_stored(translation: Translation, options: Options) -> float:
    """What base stores cost at least, however filters are divided.

    Each stream is written once, as far as any filter passes it, and what the widest relation needs is held.

    Args:
        translation: with one store for each stream.
        options: what storing costs.
    """
    model, total = CostModel(translation.problem), 0.0
    kept: dict[str, list[Relation]] = defaultdict(list)
    for relation in translation.problem.relations:
        kept[relation.kept_in].append(relation)
    for store, relations in sorted(kept.items()):
        least = replace(
            translation.copy_load(store),
            tuples=max(model.content(relation.id) for relation in relations),
            bytes=POSITION_BYTES + min(relation.bytes for relation in relations),
            tasks=1,
        )
        work, memory = options.pricing.copy(least)
        total += work + options.pricing.memory * memory
    return total


class _Division:
    """The ways to divide one stream's filters, with costs."""

    def __init__(
        self,
        forest: Forest,
        options: Options,
        stream: str,
        relations: dict[str, list[Relation]],
        probes: dict[str, list[Node]],
    ) -> None:
        self._forest = forest
        self._options = options
        self._relations = relations
        self._probes = probes
        self._rate = dict(forest.translation.rates)[stream]
        self._costs: dict[frozenset[str], float] = {}

    def best(self) -> Sequence[frozenset[str]]:
        """The groups of filters, the one that keeps most last."""
        order = sorted(self._relations, key=lambda key: (self._passes(frozenset({key})), key == "", key))
        groups = [frozenset({key}) for key in order]
        while len(groups) > 1:
            pairs = pairwise(groups)
            saved = [self._cost(a) + self._cost(b) - self._cost(a | b) for a, b in pairs]
            most = max(range(len(saved)), key=saved.__getitem__)
            if saved[most] <= 0:
                break
            groups[most : most + 2] = [groups[most] | groups[most + 1]]
        whole = frozenset(order)
        apart = sum(self._cost(group) for group in groups)
        if apart >= self._cost(whole) * (1 - _GAIN):
            return [whole]
        return sorted(groups, key=lambda group: (self._passes(group), sorted(group)))

    def _passes(self, group: frozenset[str]) -> float:
        """Tuples per second that any of the filters passes."""
        if "" in group:
            return self._rate
        missed = [1 - self._relations[key][0].tuples_per_second / self._rate for key in sorted(group)]
        return self._rate * (1 - prod(missed))

    def _cost(self, group: frozenset[str]) -> float:
        if group not in self._costs:
            self._costs[group] = self._priced(group)
        return self._costs[group]

    def _priced(self, group: frozenset[str]) -> float:
        """What a store of these filters costs, and the probes of it."""
        kept = [relation for key in sorted(group) for relation in self._relations[key]]
        inserted = self._passes(group)
        horizon_s = self._forest.translation.problem.horizon_s
        load = CopyLoad(
            tuples=inserted * max(lasting_s(relation.window_s, horizon_s) for relation in kept),
            inserted=inserted,
            bytes=POSITION_BYTES + sum(relation.bytes for relation in kept) / len(kept),
            tasks=kept[0].tasks,
            is_base=True,
        )
        pricing = self._options.pricing
        cost = union_source(pricing, inserted) if len(group) > 1 and "" not in group else 0.0
        nodes = [node for key in sorted(group) for node in self._probes[key]]
        work, memory = pricing.copy(load)
        if not nodes:
            return cost + work + pricing.memory * memory
        steps = [self._forest.step_load(node, inserted) for node in nodes]
        choice = StreamCopies(self._forest, nodes, self._options, load, steps)
        best = choice.best(None)
        fixed = cost if best else cost + work + pricing.memory * memory
        return fixed + choice.cost(best) + sum(pricing.step(step)[0] for step in steps)
