"""A directory of streams and queries on this machine's disk."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from backend.client.errors import ClientError

STREAMS = "streams.yaml"
IDENTITY = "millrace.yaml"
MOST_BYTES = 1_000_000
"""Of one file."""
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_IDENTITY = re.compile(r"""\A(?:\s*#[^\n]*\n|\s*\n)*name:\s*["']?([^"'\n#]*?)["']?\s*(?:#[^\n]*)?\s*\Z""")
_BESIDE = re.compile(r"""^\s*\w+_file:\s*["']?([^"'\n#]+?)["']?\s*(?:#.*)?$""", re.MULTILINE)


class BadDirectory(ClientError):
    """A directory that cannot be read; says file, found and expected."""


@dataclass(frozen=True, slots=True)
class Directory:
    """What is sent of a directory."""

    name: str
    """By which the server knows it: `name` in millrace.yaml, or else the folder's."""
    files: Mapping[str, str]
    """Texts by path, with / between parts."""


def read_directory(folder: Path) -> Directory:
    """The files that belong to a directory.

    These are streams.yaml, the files that it names, queries/*.sql with their *.yaml beside them, and
    topologies/*.yaml.

    Raises `BadDirectory` if there is none, or a file cannot be read.
    """
    if not folder.is_dir():
        raise BadDirectory(
            f"{folder}: found no directory, expected one with queries/NAME.sql; see millrace import"
        )
    paths = [path for path in sorted((folder / "queries").glob("*")) if path.suffix in (".sql", ".yaml")]
    paths = [path for path in paths if path.is_file() and not path.name.endswith(".test.yaml")]
    files = {f"queries/{path.name}": _text(path) for path in paths}
    jobs = [path for path in sorted((folder / "topologies").glob("*.yaml")) if path.is_file()]
    files |= {f"topologies/{path.name}": _text(path) for path in jobs}
    streams = folder / STREAMS
    if streams.exists():
        files[STREAMS] = _text(streams)
        for name in _BESIDE.findall(files[STREAMS]):
            beside = folder / name
            # The server says where streams.yaml names a file that is not sent.
            if beside.is_file() and beside.resolve().is_relative_to(folder.resolve()):
                files[name] = _text(beside)
    return Directory(_identity(folder), files)


def write_directory(folder: Path, files: Mapping[str, str]) -> list[str]:
    """Write the files of an import; the paths that were written, sorted.

    Raises `BadDirectory` if one of them is there already: nothing is written then.
    """
    targets = {path: folder / path for path in sorted(files)}
    for path, target in targets.items():
        if not target.resolve().is_relative_to(folder.resolve()):
            raise BadDirectory(f"{path}: found a path outside of {folder}, expected one below it")
        if target.exists():
            raise BadDirectory(f"{target}: found a file, expected none; import into a fresh directory")
    written = []
    for path, target in targets.items():
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(files[path], encoding="utf-8", newline="")
        written.append(path)
    return written


def _identity(folder: Path) -> str:
    path = folder / IDENTITY
    if path.exists():
        found = _IDENTITY.match(_text(path))
        if found is None:
            raise BadDirectory(f"{path}:1: found no name, expected one line such as name: flights")
        name, place = found[1].strip(), f"{path}:1"
    else:
        name, place = folder.resolve().name, str(folder)
    if not _NAME.fullmatch(name):
        expected = "letters, digits, ., _ and -, at most 63"
        raise BadDirectory(f"{place}: found the name {name!r}, expected {expected}; say it in {IDENTITY}")
    return name


def _text(path: Path) -> str:
    try:
        body = path.read_bytes()
    except OSError as error:
        raise BadDirectory(f"{path}: found {error.strerror}, expected a readable file") from error
    if len(body) > MOST_BYTES:
        raise BadDirectory(f"{path}: found {len(body)} bytes, expected at most {MOST_BYTES}")
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        found = f"byte 0x{body[error.start]:02x} at offset {error.start}"
        raise BadDirectory(f"{path}: found {found}, expected UTF-8 text") from error
