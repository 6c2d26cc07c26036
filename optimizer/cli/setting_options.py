"""Options of a command that are declared as settings."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.settings import BadSetting, Settings, plain_kind, read, schema
from optimizer.search.calibration import read_calibration
from optimizer.search.coefficients import COEFFICIENTS, Coefficients

T = TypeVar("T", bound=Settings)


def add_settings(parser: argparse.ArgumentParser, kind: type[Settings]) -> None:
    """Give a command an option for each setting: `--no-NAME` if its default is true.

    >>> from optimizer.planner.settings import PlannerSettings
    >>> parser = argparse.ArgumentParser()
    >>> add_settings(parser, PlannerSettings)
    >>> given = parser.parse_args(["--no-mir", "--task-capacity", "5e4"])
    >>> given_settings(given, PlannerSettings).task_capacity
    50000.0
    """
    for name, field in schema(kind)["properties"].items():
        told, default = _told(field), field["default"]
        if plain_kind(field)["type"] == "boolean":
            action = "store_false" if default else "store_true"
            parser.add_argument(_option(name, field), dest=name, action=action, help=told)
        else:
            metavar = name.rsplit("_", 1)[-1].upper()
            parser.add_argument(_option(name, field), default=default, metavar=metavar, help=told)


def given_settings(given: argparse.Namespace, kind: type[T]) -> T:
    """What the command line says of these settings. Raises `InputError`."""
    properties = schema(kind)["properties"]
    values = {name: _number(getattr(given, name), field) for name, field in properties.items()}
    try:
        return read(kind, values)
    except BadSetting as error:
        place = Place("command line", path=_option(error.key, properties[error.key]))
        raise InputError("bad-option", place, error.found, error.expected, error.hint) from None


def add_calibration(parser: argparse.ArgumentParser) -> None:
    """Give a command the option that names a file of `python -m jobs calibrate`."""
    told = "what a cost in cores is made from, of `python -m jobs calibrate` (default: as shipped)"
    parser.add_argument("--calibration", type=Path, metavar="FILE", help=told)


def given_coefficients(given: argparse.Namespace) -> Coefficients:
    """The coefficients of the calibration that is named. Raises `InputError`."""
    return COEFFICIENTS if given.calibration is None else read_calibration(given.calibration)


def _option(name: str, field: Mapping[str, Any]) -> str:
    return f"--{'no-' if field['default'] is True else ''}{name.replace('_', '-')}"


def _told(field: Mapping[str, Any]) -> str:
    told = str(field["description"]).rstrip(".")
    if "enum" in field:
        return f"{told}: one of {', '.join(field['enum'])} (default: {field['default']})"
    if field["default"] is True:
        return f"without: {told[0].lower()}{told[1:]}"
    if not field["default"]:
        return told
    return f"{told} (default: {field['default']:g})"


def _number(value: object, field: Mapping[str, Any]) -> object:
    """Text where a number is wanted as a number; as it is where it is none."""
    if isinstance(value, str) and plain_kind(field)["type"] == "number":
        try:
            return float(value)
        except ValueError:
            return value
    return value
