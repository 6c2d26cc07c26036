"""What Millrace says about input that it cannot use.

Every error names the place, what was found there and what was expected, so that it
fits on one line of a terminal, under one word in the editor, and in one API answer.
"""

from __future__ import annotations

from dataclasses import dataclass


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
    """Input that a person can mend: bad SQL, a bad streams.yaml, a bad data file or option.

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

    def __str__(self) -> str:
        hint = f"; did you mean {self.suggestion}?" if self.suggestion else ""
        line = f"{self.place}: found {self.found}, expected {self.expected}{hint}"
        return " ".join(line.split())


class Infeasible(ValueError):
    """No plan satisfies the options; says which limit fails and the smallest value that works."""

    def __init__(self, constraint: str, limit: float, needed: float | None) -> None:
        self.constraint = constraint
        self.limit = limit
        self.needed = needed
        least = f"; the smallest value that works is {needed:g}" if needed is not None else ""
        super().__init__(f"no plan fits {constraint} = {limit:g}{least}")
