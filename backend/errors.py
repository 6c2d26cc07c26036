"""What the backend refuses to do, as one hierarchy with one answer over HTTP.

Bad input of the domain is `optimizer.errors.InputError`; everything here is about the
state of the product. Both become answers in `backend.answers`, nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from optimizer.errors import InputError


class MillraceError(Exception):
    """A request that is well-formed but cannot be carried out; `code` is stable, `str` is for people."""

    status = 500

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        super().__init__(detail)


class Conflict(MillraceError):
    """Against the present state: a name that is taken, a stream in use."""

    status = 409


class Unavailable(MillraceError):
    """Something that this needs (Redis, a worker) is out of reach; worth another try."""

    status = 503


class Forbidden(MillraceError):
    """The account may see this but not change it."""

    status = 403


class TooLarge(MillraceError):
    status = 413


class TooMany(MillraceError):
    """More at once, or in a row, than one may have; worth another try after a while."""

    status = 429

    def __init__(self, code: str, detail: str, retry_after: int) -> None:
        self.retry_after = retry_after
        """Seconds."""
        super().__init__(code, detail)


class InputErrors(ValueError):
    """Several faults of one input, reported together."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(str(error) for error in errors))


def problem(error: InputError) -> dict[str, Any]:
    """The error as the API shows it (docs/frontend-contract.md, Problem)."""
    place = error.place
    return {
        "code": error.code,
        "line": place.line,
        "column": place.column,
        "end_column": place.end_column,
        "path": place.path,
        "found": error.found,
        "expected": error.expected,
        "suggestion": error.suggestion,
        "message": str(error),
    }
