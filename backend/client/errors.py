"""What can go wrong between a program and the server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


class ClientError(Exception):
    """The base of everything that the client raises; `str` is one line for people."""


class Unreachable(ClientError):
    """No server answers at the address, or not in time."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A mistake in a text or in a document that was sent."""

    message: str
    line: int | None
    """1-based, like `column`; None if the mistake has no place in a text."""
    column: int | None
    found: str
    expected: str
    suggestion: str | None
    """What to write instead, if the server has an idea."""


class Refused(ClientError):
    """The server understood and said no."""

    def __init__(self, status: int, code: str | None, message: str, problems: tuple[Problem, ...]) -> None:
        self.status = status
        """Of HTTP: 400 bad input, 403 not allowed, 404 unknown, 409 against the present state."""
        self.code = code
        self.problems = problems
        super().__init__(message)

    @property
    def is_input(self) -> bool:
        """True if what was sent is wrong, so that trying again is in vain."""
        return self.status == 400


def refusal(status: int, document: object) -> Refused:
    """The error that an answer's body tells about, in whichever of the API's shapes."""
    if isinstance(document, Mapping):
        errors = document.get("errors")
        if isinstance(errors, list):
            problems = tuple(_problem(one) for one in errors)
            return Refused(status, None, "; ".join(one.message for one in problems), problems)
        detail = document.get("detail")
        if isinstance(detail, str):
            return Refused(status, document.get("code"), detail, ())
        fields = "; ".join(f"{name}: {_told(value)}" for name, value in document.items())
        if fields:
            return Refused(status, None, fields, ())
    return Refused(status, None, f"the server answered {status}", ())


def _problem(one: Mapping[str, Any]) -> Problem:
    return Problem(
        one["message"], one["line"], one["column"], one["found"], one["expected"], one["suggestion"]
    )


def _told(value: object) -> str:
    return " ".join(map(str, value)) if isinstance(value, list) else str(value)
