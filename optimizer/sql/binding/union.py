"""UNION ALL: the branches of several queries as those of one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from sqlglot import exp

from optimizer.algebra.expression import Expression, rename_inputs
from optimizer.algebra.normalize import normal_form
from optimizer.algebra.types import ColumnType, chosen_type
from optimizer.algebra.typing import cast
from optimizer.logical.query import Absence, Branch, Input, Output, Query
from optimizer.sql.grammar.places import SourceText, span_of


def united(name: str, parts: Sequence[Query], selects: Sequence[exp.Select], text: SourceText) -> Query:
    """One query with the results of several.

    Its outputs have the names of the first one's, and types that hold the values of all.

    Raises:
        InputError: outputs differ in number, or have types without a common one; or a part has groups.
    """
    first = parts[0]
    for part, select in zip(parts, selects, strict=True):
        if part.grouping is not None:
            raise text.error(span_of(select), "unsupported", "groups in UNION ALL", "single results")
        if len(part.outputs) != len(first.outputs):
            found = f"{len(part.outputs)} columns in UNION ALL"
            expected = f"{len(first.outputs)}, as the first SELECT has"
            raise text.error(span_of(select), "type-mismatch", found, expected)
    kinds = [_common(text, selects, parts, position) for position in range(len(first.outputs))]
    taken: set[str] = set()
    inputs: list[Input] = []
    predicates: list[Expression] = []
    branches: list[Branch] = []
    outputs: tuple[Output, ...] = ()
    for part in parts:
        names = _names(part, taken)
        taken |= set(names.values())
        inputs += (replace(item, alias=names[item.alias]) for item in part.inputs)
        predicates += _renamed(part.predicates, names)
        whole = Branch(part.inputs, part.predicates, part.outputs, (), part.cross_join)
        for branch in part.branches or (whole,):
            columns = tuple(
                Output(output.name, cast(normal_form(rename_inputs(own.expression, names)), kind))
                for output, own, kind in zip(first.outputs, branch.outputs, kinds, strict=True)
            )
            branches.append(
                Branch(
                    tuple(replace(item, alias=names[item.alias]) for item in branch.inputs),
                    _renamed(branch.predicates, names),
                    columns,
                    tuple(_absence(absence, names) for absence in branch.absences),
                    branch.cross_join,
                    _renamed(branch.residuals, names),
                )
            )
        if part is first:
            outputs = tuple(
                Output(output.name, cast(normal_form(rename_inputs(output.expression, names)), kind))
                for output, kind in zip(first.outputs, kinds, strict=True)
            )
    derived = {one.stream.name: one for part in parts for one in part.derived}
    return Query(
        name,
        tuple(inputs),
        tuple(predicates),
        outputs,
        True,
        branches=tuple(branches),
        written=text.text,
        derived=tuple(derived[one] for one in sorted(derived)),
    )


def _common(
    text: SourceText, selects: Sequence[exp.Select], parts: Sequence[Query], position: int
) -> ColumnType:
    """The type of an output that holds the values of all parts."""
    kind = parts[0].outputs[position].expression.type
    for part, select in zip(parts[1:], selects[1:], strict=True):
        own = part.outputs[position].expression.type
        if not kind.comparable_with(own):
            items = select.expressions
            place = items[position] if len(items) == len(part.outputs) else select
            found = f"{own} as column {position + 1} in UNION ALL"
            raise text.error(span_of(place), "type-mismatch", found, f"{kind}, as in the first SELECT")
        kind = chosen_type(kind, own)
    return kind


def _names(part: Query, taken: set[str]) -> dict[str, str]:
    """Aliases that no part before has."""
    names: dict[str, str] = {}
    for item in part.inputs:
        candidate, number = item.alias, 2
        while candidate in taken or candidate in names.values():
            candidate, number = f"{item.alias}_{number}", number + 1
        names[item.alias] = candidate
    return names


def _renamed(expressions: Sequence[Expression], names: dict[str, str]) -> tuple[Expression, ...]:
    return tuple(normal_form(rename_inputs(expression, names)) for expression in expressions)


def _absence(absence: Absence, names: dict[str, str]) -> Absence:
    return replace(
        absence,
        inputs=tuple(replace(item, alias=names[item.alias]) for item in absence.inputs),
        beside=tuple(sorted(names[alias] for alias in absence.beside)),
        predicates=tuple(sorted(set(_renamed(absence.predicates, names)), key=repr)),
    )
