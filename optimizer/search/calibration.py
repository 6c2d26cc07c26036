"""The file in which `python -m jobs calibrate` leaves coefficients."""

from __future__ import annotations

import json
from dataclasses import asdict, fields
from pathlib import Path

from optimizer.algebra.errors import InputError, Place
from optimizer.search.coefficients import Coefficients

_KEY = "microseconds"
_MOST_US = 1e9
"""Of a coefficient: more than any machine takes for one thing, and few enough to add plans' costs up."""
_SHOWN = 80
"""Characters of a number that is none."""


def write_calibration(path: Path, coefficients: Coefficients, figures: dict[str, float]) -> None:
    """Write coefficients, with figures that say how well they fit."""
    rounded = {name: float(f"{value:.4g}") for name, value in asdict(coefficients).items()}
    path.write_text(json.dumps({_KEY: rounded, **figures}, indent=1) + "\n", encoding="utf-8")


def read_calibration(path: Path) -> Coefficients:
    """The coefficients in a file.

    Raises:
        InputError: the file cannot be read, or is none of calibration.
    """
    names = {field.name for field in fields(Coefficients)}
    try:
        given = json.loads(path.read_text(encoding="utf-8"))[_KEY]
        found = {name: float(given[name]) for name in sorted(names & given.keys())}
    except OSError as error:
        raise InputError(
            "no-calibration", Place(str(path)), error.strerror or str(error), "a file of `jobs calibrate`"
        ) from error
    except (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError) as error:
        raise InputError(
            "bad-calibration", Place(str(path)), repr(error), f"{_KEY}: a number for each coefficient"
        ) from error
    bad = [name for name, value in found.items() if not 0 <= value <= _MOST_US]
    if bad or len(found) < len(names):
        wrong = bad[0] if bad else sorted(names - found.keys())[0]
        raise InputError(
            "bad-calibration",
            Place(str(path), path=f"{_KEY}.{wrong}"),
            str(given.get(wrong))[:_SHOWN],
            f"a number from 0 to {_MOST_US:g}",
        )
    return Coefficients(**found)
