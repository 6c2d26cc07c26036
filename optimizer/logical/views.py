"""Views, inlined: a query over a query reads the inner one's own inputs.

Inlining keeps every predicate of the view. Each of the view's streams keeps its own
window, and a window that is written behind the view's name holds for each of them too:
the narrower counts. So with view `v` over `r [RANGE 10 MINUTES]`, `FROM v [RANGE 2 MINUTES]`
keeps tuples of `r` for 2 minutes.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from optimizer.algebra.expression import Expression, rename_inputs
from optimizer.algebra.normalize import normal_form
from optimizer.logical.query import Input, Query
from optimizer.logical.window import Window


@dataclass(frozen=True, slots=True)
class Inlined:
    """A view's parts under the names that they have inside the query that reads it."""

    inputs: tuple[Input, ...]
    predicates: tuple[Expression, ...]
    columns: tuple[tuple[str, Expression], ...]
    """The view's output columns, in order."""
    cross_join: bool


def inline(view: Query, alias: str, window: Window, taken: Collection[str]) -> Inlined:
    """The view as it is read under `alias`.

    Its inputs are named `alias_input`, with a number behind where that is `taken`; a view
    over a single stream gives the stream its own alias.
    """
    used = {name.casefold() for name in taken}
    names: dict[str, str] = {}
    for item in view.inputs:
        name = alias if len(view.inputs) == 1 else f"{alias}_{item.alias}"
        candidate, number = name, 2
        while candidate.casefold() in used:
            candidate, number = f"{name}_{number}", number + 1
        used.add(candidate.casefold())
        names[item.alias] = candidate
    return Inlined(
        tuple(Input(names[i.alias], i.stream, i.window.intersection(window)) for i in view.inputs),
        tuple(normal_form(rename_inputs(predicate, names)) for predicate in view.predicates),
        tuple((output.name, normal_form(rename_inputs(output.expression, names))) for output in view.outputs),
        view.cross_join,
    )
