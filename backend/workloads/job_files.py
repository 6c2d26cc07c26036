"""topologies/NAME.yaml: how a topology's job works, and where its results go."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import Any, ClassVar

import yaml

from backend.topologies.job_settings import HIDDEN, JobSettings
from optimizer.algebra.errors import InputError, Place
from optimizer.algebra.settings import BadSetting, read, schema
from optimizer.workload.yaml_nodes import YamlDocument

FOLDER = "topologies"
_NAME = re.compile(r"[a-z][a-z0-9_-]{0,62}")
_EXPECTED = "lower-case letters, digits, _ and -, starting with a letter, at most 63"


@dataclass(frozen=True, slots=True)
class DeclaredJob:
    """What a file says of a topology's job."""

    topology: str
    said: Mapping[str, Any]
    """Values of the settings that it speaks of, by name; of the others it wants nothing."""

    def over(self, present: JobSettings) -> JobSettings:
        """The settings as they are to be."""
        return read(JobSettings, {**present.document(), **self.said})


class JobDocument(YamlDocument):
    """Reads a topologies/NAME.yaml."""

    code: ClassVar[str] = "bad-job"

    def read(self, text: str) -> Mapping[str, Any]:
        """The settings that the file speaks of, by name.

        One without a value has its default. Raises `InputError` with line and path.
        """
        root = self._root(text)
        if root is None:
            return {}
        entries = self._mapping(root, "")
        fields = schema(JobSettings)["properties"]
        self._known(entries, tuple(fields), "")
        given = {name: self._value(node, name, fields[name]) for name, (_, node) in entries.items()}
        try:
            document = read(JobSettings, given).document()
        except BadSetting as error:
            self._fail(entries[error.key][1], error.key, error.found, error.expected, error.hint)
        return {name: document[name] for name in given}

    def _value(self, node: yaml.Node, name: str, field: Mapping[str, Any]) -> object:
        if node.tag == "tag:yaml.org,2002:null":
            return field["default"]
        if not isinstance(node, yaml.ScalarNode):
            self._fail(node, name, "a list" if isinstance(node.value, list) else "entries", "one value")
        return str(node.value)


def read_jobs(files: Mapping[str, str], errors: list[InputError]) -> Iterator[DeclaredJob]:
    """The jobs that files speak of, by name; what is wrong goes to `errors`."""
    for path in sorted(files):
        parts = PurePosixPath(path).parts
        if len(parts) != 2 or parts[0] != FOLDER or not path.endswith(".yaml"):
            continue
        name = parts[1].removesuffix(".yaml")
        if not _NAME.fullmatch(name):
            errors.append(InputError("bad-name", Place(path), f"the name {name}", _EXPECTED))
            continue
        try:
            yield DeclaredJob(name, JobDocument(path).read(files[path]))
        except InputError as error:
            errors.append(error)


def job_text(settings: JobSettings) -> str:
    """The file that says what differs from the defaults, without secrets.

    Empty if nothing does.

    >>> print(job_text(JobSettings(trigger_ms=200, results_table="live.{query}")), end="")
    trigger_ms: 200
    results_table: live.{query}
    """
    chosen = {name: value for name, value in settings.chosen().items() if name not in HIDDEN}
    text: str = yaml.safe_dump(chosen, sort_keys=False, allow_unicode=True, width=1000) if chosen else ""
    return text
