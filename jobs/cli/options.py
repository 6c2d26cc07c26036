"""Command-line options, refused like every other bad input: one line, exit code 2."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import NoReturn

from optimizer.algebra.errors import InputError, Place

STATE = "where stores lie, for example s3://BUCKET/FOLDER (default: in the checkpoint)"
MEMORY = "how much of the stores may be in memory (default: as much as there is); 64MiB and the like too"


class Parser(argparse.ArgumentParser):
    """argparse that raises `InputError` instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise InputError("bad-option", Place("command line"), message, f"options as in {self.prog} --help")


def count(text: str) -> int:
    """A whole number of at least 1.

    >>> count("4")
    4
    """
    if not text.isdecimal() or not 1 <= int(text) <= 2**31 - 1:
        raise argparse.ArgumentTypeError(f"{text!r} instead of a whole number of at least 1")
    return int(text)


def tasks(text: str) -> int:
    """A number of tasks: arrival numbers leave room for 256 of them in a batch."""
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"{text!r} instead of a whole number from 1 to 256")
    return int(text)


def weight(text: str) -> float:
    """A finite number of at least 0.

    >>> weight("0.1")
    0.1
    """
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} instead of a number of at least 0")
    return value


_UNITS_US = {
    "millisecond": 1_000,
    "ms": 1_000,
    "second": 1_000_000,
    "s": 1_000_000,
    "minute": 60_000_000,
    "min": 60_000_000,
    "hour": 3_600_000_000,
    "h": 3_600_000_000,
}


def duration_us(text: str) -> int:
    """A duration in microseconds.

    >>> duration_us("30 seconds"), duration_us("1.5 min")
    (30000000, 90000000)
    """
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]+)\s*", text.lower())
    unit = match.group(2) if match else ""
    size = _UNITS_US.get(unit, _UNITS_US.get(unit.removesuffix("s")))
    if match is None or size is None or float(match.group(1)) <= 0:
        raise argparse.ArgumentTypeError(f"{text!r} instead of a duration such as '30 seconds'")
    return int(float(match.group(1)) * size)


def add_test_options(parser: argparse.ArgumentParser) -> None:
    """Declare the options of `python -m jobs test`."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="with queries/NAME.test.yaml")
    parser.add_argument(
        "--query", action="append", default=[], metavar="NAME", help="only its cases; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the arrival orders (1)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit's XML, for CI")
