"""What Millrace says about input that it cannot use.

Every error names the place, what was found there and what was expected, so that it
fits on one line of a terminal, under one word in the editor, and in one API answer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from math import floor, inf, log10


@dataclass(frozen=True, slots=True)
class Place:
    """Where an error is: a file or a named text, and a position or a path inside it.

    >>> str(Place("queries/q.sql", line=3, column=14))
    'queries/q.sql:3:14'
    >>> str(Place("streams.yaml", path="streams.r.rate"))
    'streams.yaml: streams.r.rate'
    """

    source: str
    line: int | None = None
    """1-based."""
    column: int | None = None
    """1-based, in characters."""
    end_column: int | None = None
    """1-based and exclusive; with `column` it spans the text to underline."""
    path: str | None = None
    """A dotted path inside a structured document."""

    def __str__(self) -> str:
        position = "".join(f":{part}" for part in (self.line, self.column) if part is not None)
        return f"{self.source}{position}" + (f": {self.path}" if self.path else "")


class InputError(ValueError):
    """Input that a user can mend: bad SQL, a bad streams.yaml, data file or option.

    >>> print(InputError("unknown-column", Place("q.sql", 1, 8), "column d.orign",
    ...                  "a column of departures", "d.origin"))
    q.sql:1:8: found column d.orign, expected a column of departures; did you mean d.origin?
    """

    def __init__(
        self,
        code: str,
        place: Place,
        found: str,
        expected: str,
        suggestion: str | None = None,
    ) -> None:
        self.code = code
        self.place = place
        self.found = found
        self.expected = expected
        self.suggestion = suggestion
        super().__init__(str(self))

    def __reduce__(self) -> tuple[type[InputError], tuple[str, Place, str, str, str | None]]:
        # An exception is copied by its message alone, unless it says better.
        return type(self), (self.code, self.place, self.found, self.expected, self.suggestion)

    def __str__(self) -> str:
        hint = f"; did you mean {self.suggestion}?" if self.suggestion else ""
        line = f"{self.place}: found {self.found}, expected {self.expected}{hint}"
        return " ".join(line.split())


class Infeasible(ValueError):
    """No plan satisfies the options; says which limit fails and a value that works.

    >>> print(Infeasible("storage_budget", 10.0, 400.0))
    no plan fits storage_budget = 10; the smallest value that works is 400
    >>> print(Infeasible("task_capacity", 1.0, 1234567.8, "greedy"))
    greedy found no plan that fits task_capacity = 1; the best it found needs 1.23457e+06

    Args:
        needed: the smallest value that works, as far as is known.
        method: the method that found no plan; None if it is proven that there is none, and that
            `needed` is the smallest value.
    """

    def __init__(
        self, constraint: str, limit: float, needed: float | None, method: str | None = None
    ) -> None:
        self.constraint = constraint
        self.limit = limit
        self.needed = needed
        self.method = method
        if method is None:
            refused, works = "no plan fits", "the smallest value that works is"
        else:
            refused, works = f"{method} found no plan that fits", "the best it found needs"
        least = "" if needed is None else f"; {works} {_rounded_up(needed)}"
        super().__init__(f"{refused} {constraint} = {limit:g}{least}")

    def __reduce__(self) -> tuple[type[Infeasible], tuple[str, float, float | None, str | None]]:
        return type(self), (self.constraint, self.limit, self.needed, self.method)


def hardest(refused: Iterable[Infeasible]) -> Infeasible:
    """Of refusals of plans side by side, the one whose value works for all.

    One without a value comes first.

    >>> hardest([Infeasible("storage", 10.0, needed) for needed in (20.0, 30.0)]).needed
    30.0
    """
    return max(refused, key=lambda error: inf if error.needed is None else error.needed)


def _rounded_up(value: float) -> str:
    """Six digits, never less than the value: what is printed must work."""
    text = f"{value:g}"
    if float(text) >= value:
        return text
    return f"{value + 10.0 ** (floor(log10(value)) - 5):g}"
