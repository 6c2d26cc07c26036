"""Command-line options, refused like every other bad input: one line, exit code 2."""

from __future__ import annotations

import argparse
from typing import NoReturn

from optimizer.errors import InputError, Place


class Parser(argparse.ArgumentParser):
    """argparse that raises `InputError` instead of ending the process."""

    def error(self, message: str) -> NoReturn:
        raise InputError("bad-option", Place("command line"), message, f"see {self.prog} --help")


def count(text: str) -> int:
    """A whole number of at least 1."""
    if not text.isdecimal() or not 1 <= int(text) <= 2**31 - 1:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number of at least 1")
    return int(text)


def tasks(text: str) -> int:
    """A number of tasks: arrival numbers leave room for 256 of them in a batch."""
    if not text.isdecimal() or not 1 <= int(text) <= 256:
        raise argparse.ArgumentTypeError(f"found {text!r}, expected a whole number from 1 to 256")
    return int(text)
