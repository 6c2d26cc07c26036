"""queries/NAME.yaml: what belongs to a query beside its text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import yaml

from optimizer.algebra.identifiers import nearest
from optimizer.workload.yaml_nodes import YamlDocument

_KEYS = ("topology", "description", "tags", "deploy")
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_TAG = re.compile(r"[^\s:,]{1,40}")
MOST_TAGS = 20
MOST_CHARACTERS = 10_000
"""Of a description."""


@dataclass(frozen=True, slots=True)
class QuerySettings:
    """What a file says of a query; None where it says nothing."""

    topology: str | None = None
    description: str | None = None
    tags: tuple[str, ...] | None = None
    """Sorted."""
    deploy: bool = True
    """False for a query that others read and no topology answers."""

    def to_yaml(self) -> str:
        """The file that says so; empty if nothing is to be said.

        >>> print(QuerySettings("flights", "Late in the wind", ("delay", "wind")).to_yaml(), end="")
        topology: flights
        description: Late in the wind
        tags: [delay, wind]
        >>> QuerySettingsDocument("q.yaml").read(QuerySettings(tags=("a",), deploy=False).to_yaml())
        QuerySettings(topology=None, description=None, tags=('a',), deploy=False)
        """
        said: dict[str, Any] = {}
        if self.topology is not None:
            said["topology"] = self.topology
        if self.description is not None:
            said["description"] = self.description
        lines = [] if not said else [yaml.safe_dump(said, sort_keys=False, allow_unicode=True, width=100)]
        if self.tags is not None:
            lines.append(yaml.safe_dump({"tags": list(self.tags)}, default_flow_style=None, width=1000))
        if not self.deploy:
            lines.append("deploy: false\n")
        return "".join(lines)


class QuerySettingsDocument(YamlDocument):
    """Reads a queries/NAME.yaml."""

    code: ClassVar[str] = "bad-settings"

    def read(self, text: str) -> QuerySettings:
        """What the file says. Raises `InputError` with line and path."""
        root = self._root(text)
        if root is None:
            return QuerySettings()
        entries = self._mapping(root, "")
        self._known(entries, _KEYS, "")
        given: Mapping[str, yaml.Node] = {
            key: node for key in _KEYS if (node := self._optional(entries, key, "")) is not None
        }
        return QuerySettings(
            topology=self._name(given["topology"]) if "topology" in given else None,
            description=self._description(given["description"]) if "description" in given else None,
            tags=self._tags(given["tags"]) if "tags" in given else None,
            deploy=self._flag(given["deploy"]) if "deploy" in given else True,
        )

    def _name(self, node: yaml.Node) -> str:
        expected = "a topology: lower-case letters, digits, _ and -, starting with a letter, at most 63"
        name = self._text(node, "topology", expected)
        if not _NAME.fullmatch(name):
            self._fail(node, "topology", name, expected)
        return name

    def _description(self, node: yaml.Node) -> str:
        if isinstance(node, yaml.ScalarNode) and not node.value.strip():
            return ""
        # As the server keeps texts: without blanks around them.
        text = self._text(node, "description", "a text").strip()
        if len(text) > MOST_CHARACTERS:
            self._fail(node, "description", f"{len(text)} characters", f"at most {MOST_CHARACTERS}")
        return text

    def _tags(self, node: yaml.Node) -> tuple[str, ...]:
        if not isinstance(node, yaml.SequenceNode):
            self._fail(node, "tags", "no list", "a list such as [wind, delay]")
        found = set()
        for number, item in enumerate(node.value):
            path = f"tags.{number}"
            tag = self._text(item, path, "a tag")
            if not _TAG.fullmatch(tag):
                self._fail(item, path, tag, "at most 40 characters without blanks, colons and commas")
            found.add(tag)
        if len(found) > MOST_TAGS:
            self._fail(node, "tags", f"{len(found)} tags", f"at most {MOST_TAGS}")
        return tuple(sorted(found))

    def _flag(self, node: yaml.Node) -> bool:
        written = self._text(node, "deploy", "true or false").lower()
        if written not in ("true", "false"):
            self._fail(node, "deploy", written, "true or false", nearest(written, ("true", "false")))
        return written == "true"
