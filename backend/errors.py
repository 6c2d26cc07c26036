"""What the backend refuses to do, as one hierarchy with one answer over HTTP.

Bad input of the domain is `optimizer.algebra.errors.InputError`; everything here is about the
state of the product. Both become answers in `backend.http.error_responses`, nowhere else.
"""

from __future__ import annotations

from collections.abc import Sequence

from optimizer.algebra.errors import InputError


class MillraceError(Exception):
    """A well-formed request that cannot be carried out: stable `code`, readable `str`."""

    status = 500

    def __init__(self, code: str, detail: str) -> None:
        self.code = code
        super().__init__(detail)

    def __reduce__(self) -> tuple[object, ...]:
        # Errors are told between processes too (`backend.bounded`).
        return type(self), (self.code, str(self))


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


class TooMuchWork(MillraceError):
    """What is asked for needs more time or memory than one request may use."""

    status = 422


class Later(MillraceError):
    """Worth another try after a while; the answer says after how long."""

    retry_after_s = 1


class TooMany(Later):
    """More at once, or in a row, than one may have."""

    status = 429

    def __init__(self, code: str, detail: str, retry_after_s: int) -> None:
        self.retry_after_s = retry_after_s
        super().__init__(code, detail)


class TooManyAtOnce(Later):
    """The account asks for more at once than one may."""

    status = 429

    def __init__(self, present: int) -> None:
        self._present = present
        super().__init__(
            "too-many-at-once",
            f"{present} of your requests of this kind are being answered or wait; "
            "more begin when one of them is done (MILLRACE_WORK_PER_ACCOUNT)",
        )

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self._present,)


class Busy(Later):
    """Too many others ask at once."""

    status = 503
    retry_after_s = 5

    def __init__(self) -> None:
        super().__init__("busy", "too many requests of this kind wait; try again in a few seconds")

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), ()


class InputErrors(ValueError):
    """Several faults of one input, reported together."""

    def __init__(self, errors: Sequence[InputError]) -> None:
        self.errors = tuple(errors)
        super().__init__("; ".join(str(error) for error in errors))

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.errors,)


def problem(error: InputError) -> dict[str, object]:
    """The error as the API shows it (docs/design/frontend-contract.md, Problem)."""
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
