"""ARCHITECTURE.md's tables of rooms, written from `tests.layers` and the rooms' own docstrings."""

from __future__ import annotations

import ast
import re
from pathlib import Path

from tests.layers import LAYERS

_ROOT = Path(__file__).resolve().parents[1]
_TABLE = re.compile(r"<!-- rooms of ([\w.]+) -->\n.*?<!-- end of rooms -->", re.DOTALL)


def with_rooms(text: str) -> str:
    """The text with each table between `<!-- rooms of PACKAGE -->` and `<!-- end of rooms -->` anew."""
    return _TABLE.sub(lambda m: f"<!-- rooms of {m[1]} -->\n{rooms_table(m[1])}<!-- end of rooms -->", text)


def rooms_table(package: str) -> str:
    """A package's rooms from the lowest layer to the highest, a row each.

    >>> rooms_table("optimizer").splitlines()[2].startswith("| 1 | `algebra` |")
    True

    Raises:
        ValueError: a room says nothing about itself.
    """
    rows = ["| layer | room | what is in it |", "|---|---|---|"]
    for number, rooms in enumerate(LAYERS[package], start=1):
        rows += [f"| {number} | `{room}` | {_claim(package, room)} |" for room in rooms if room != "__init__"]
    return "\n".join(rows) + "\n"


def _claim(package: str, room: str) -> str:
    folder = _ROOT.joinpath(*package.split("."))
    file = folder / room / "__init__.py"
    file = file if file.exists() else folder / f"{room}.py"
    docstring = ast.get_docstring(ast.parse(file.read_text()))
    if not docstring:
        raise ValueError(f"{file.relative_to(_ROOT)} begins with no docstring, expected one sentence")
    return docstring.partition("\n\n")[0].replace("\n", " ")
