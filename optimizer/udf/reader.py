"""Read functions.yaml: names and types of the Python functions queries may call."""

from __future__ import annotations

import os
import re
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Literal

import yaml
from pydantic import BaseModel, Field, ValidationError

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.functions import FUNCTIONS
from optimizer.algebra.types import COLUMN_TYPES, ColumnType
from optimizer.udf.loading import load
from optimizer.udf.registry import FunctionRegistry, UserFunction

FILE_NAME = "functions.yaml"
"""Beside streams.yaml in a workload directory."""
SETTING = "MILLRACE_FUNCTIONS"
"""The environment variable that names the file of an installation, and of the job's workers."""
RETURNS = (ColumnType.BOOLEAN, ColumnType.INT, ColumnType.BIGINT, ColumnType.DOUBLE, ColumnType.STRING)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,62}")
_PATH = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)*:[A-Za-z_]\w*")


class _Entry(BaseModel, extra="forbid"):
    call: str
    arguments: Annotated[list[str], Field(min_length=1)]
    returns: str
    cost_us: Annotated[float, Field(ge=0, allow_inf_nan=False)] | Literal["measure"]
    symmetric: bool = False


class _Document(BaseModel, extra="forbid"):
    functions: dict[str, _Entry]


def read_functions(path: Path) -> FunctionRegistry:
    """The functions that a file declares, all of them importable.

    Raises `InputError` that names the file and the entry for anything unusable.
    """
    try:
        content = yaml.safe_load(path.read_bytes())
    except OSError as error:
        found = error.strerror or str(error)
        raise InputError("missing-file", Place(str(path)), found, "a file of functions") from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise _unusable(
            path, None, " ".join(str(error).split())[:100], "YAML with functions: {...}"
        ) from error
    try:
        document = _Document.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or None
        raise _unusable(path, where, repr(first["input"])[:80], first["msg"]) from error
    return FunctionRegistry(
        tuple(_function(path, name, entry) for name, entry in sorted(document.functions.items()))
    )


def allowed_functions() -> FunctionRegistry:
    """The functions of the file that the environment names; none if it names no file.

    Read once per process and file. Raises `InputError` as `read_functions` does.
    """
    path = os.environ.get(SETTING)
    return _read_once(path) if path else FunctionRegistry()


@lru_cache(maxsize=8)
def _read_once(path: str) -> FunctionRegistry:
    return read_functions(Path(path))


def _function(path: Path, name: str, entry: _Entry) -> UserFunction:
    where = f"functions.{name}"
    if not _NAME.fullmatch(name):
        raise _unusable(path, where, f"name {name!r}", "lower case letters, digits and underscores")
    if name in _BUILT_IN:
        raise _unusable(path, where, f"name {name}, which SQL has already", "a name of its own")
    if not _PATH.fullmatch(entry.call):
        raise _unusable(path, f"{where}.call", repr(entry.call), "package.module:function")
    arguments = tuple(
        _type(path, f"{where}.arguments.{number}", written, COLUMN_TYPES)
        for number, written in enumerate(entry.arguments)
    )
    if entry.symmetric and len(set(arguments)) > 1:
        raise _unusable(path, f"{where}.symmetric", "arguments of different types", "arguments of one type")
    function = UserFunction(
        name,
        entry.call,
        arguments,
        _type(path, f"{where}.returns", entry.returns, RETURNS),
        None if entry.cost_us == "measure" else float(entry.cost_us),
        entry.symmetric,
    )
    try:
        load(entry.call)
    except (ImportError, AttributeError, TypeError) as error:
        raise _unusable(path, f"{where}.call", str(error), "a function that can be imported") from error
    return function


def _type(path: Path, where: str, written: str, allowed: tuple[ColumnType, ...]) -> ColumnType:
    found = next((kind for kind in allowed if kind.value == written.lower()), None)
    if found is None:
        raise _unusable(path, where, f"type {written}", f"one of {', '.join(allowed)}")
    return found


def _unusable(path: Path, where: str | None, found: str, expected: str) -> InputError:
    return InputError("bad-functions", Place(str(path), path=where), found, expected)


_BUILT_IN = frozenset(FUNCTIONS) | {function.sql.lower() for function in FUNCTIONS.values()}
