"""Values out of YAML nodes, which know their lines, with errors at their places."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import ClassVar, NoReturn, TypeAlias

import yaml

from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.identifiers import nearest
from optimizer.logical.durations import parse_duration_us

Entries: TypeAlias = Mapping[str, tuple[yaml.Node, yaml.Node]]
"""Keys and values of a mapping, by name."""


class YamlDocument:
    """Reads YAML nodes rather than values, because nodes know their lines."""

    code: ClassVar[str] = "bad-streams"
    """Of its errors."""

    def __init__(self, source: str) -> None:
        self._source = source

    def _root(self, text: str) -> yaml.Node | None:
        try:
            return yaml.compose(text, Loader=yaml.SafeLoader)
        except yaml.MarkedYAMLError as error:
            mark = error.problem_mark or error.context_mark
            place = Place(self._source, mark.line + 1, mark.column + 1) if mark else Place(self._source)
            raise InputError("bad-yaml", place, error.problem or "text that is no YAML", "YAML") from None
        except yaml.YAMLError as error:
            found = str(error).splitlines()[0]
            raise InputError("bad-yaml", Place(self._source), found, "YAML") from None
        except RecursionError:
            raise InputError("bad-yaml", Place(self._source), "YAML nested too deeply", "streams") from None

    def _optional(self, entries: Entries, key: str, path: str) -> yaml.Node | None:
        node = entries[key][1] if key in entries else None
        if node is not None and node.tag == "tag:yaml.org,2002:null":
            return None
        return node

    def _duration(self, node: yaml.Node, path: str) -> timedelta:
        text = self._text(node, path, "a duration such as 5 minutes")
        try:
            us = 0 if text.strip() in ("0", "0.0") else parse_duration_us(text)
        except ValueError:
            self._fail(node, path, text, "a duration with its unit, such as 5 minutes or 30s")
        if us < 0:
            self._fail(node, path, text, "a duration that is not negative")
        if us >= 2**63:
            self._fail(node, path, text, "a duration below 292,000 years: 64 bits of microseconds")
        return timedelta(microseconds=us)

    def _number(self, node: yaml.Node, path: str, expected: str) -> float:
        if not isinstance(node, yaml.ScalarNode):
            self._fail(node, path, _kind(node), expected)
        try:
            # YAML 1.1 takes 1e-3 for text; people mean a number.
            value = float(node.value.replace("_", "")) if node.style is None else math.nan
        except ValueError:
            value = math.nan
        if not math.isfinite(value) or value < 0:
            self._fail(node, path, str(node.value) or "nothing", expected)
        return value

    def _text(self, node: yaml.Node, path: str, expected: str) -> str:
        if not isinstance(node, yaml.ScalarNode) or not node.value.strip():
            self._fail(node, path, _kind(node), expected)
        return str(node.value)

    def _mapping(self, node: yaml.Node, path: str) -> Entries:
        if not isinstance(node, yaml.MappingNode):
            self._fail(node, path, _kind(node), "key: value entries")
        entries: dict[str, tuple[yaml.Node, yaml.Node]] = {}
        for key, value in node.value:
            if not isinstance(key, yaml.ScalarNode):
                self._fail(key, path, _kind(key), "a name")
            name = str(key.value)
            if name in entries:
                self._fail(key, f"{path}.{name}".lstrip("."), f"{name} twice", "each name once")
            entries[name] = (key, value)
        return entries

    def _sequence(
        self, node: yaml.Node, path: str, expected: str = "a list: - {predicate: ..., value: ...}"
    ) -> Sequence[yaml.Node]:
        if isinstance(node, yaml.ScalarNode) and node.tag == "tag:yaml.org,2002:null":
            return ()
        if not isinstance(node, yaml.SequenceNode):
            self._fail(node, path, _kind(node), expected)
        items: Sequence[yaml.Node] = node.value
        return items

    def _known(self, entries: Entries, known: Sequence[str], path: str) -> None:
        for name, (key, _) in entries.items():
            if name not in known:
                where = f"{path}.{name}".lstrip(".")
                self._fail(key, where, f"key {name}", f"one of {', '.join(known)}", nearest(name, known))

    def _place(self, node: yaml.Node, path: str) -> Place:
        start, end = node.start_mark, node.end_mark
        end_column = end.column + 1 if end.line == start.line else None
        return Place(self._source, start.line + 1, start.column + 1, end_column, path or None)

    def _fail(
        self, node: yaml.Node, path: str, found: str, expected: str, suggestion: str | None = None
    ) -> NoReturn:
        raise InputError(self.code, self._place(node, path), found[:120], expected, suggestion)


def _kind(node: yaml.Node) -> str:
    """What a YAML node is, in words."""
    if isinstance(node, yaml.MappingNode):
        return "key: value entries"
    if isinstance(node, yaml.SequenceNode):
        return "a list"
    return str(node.value) or "nothing"
