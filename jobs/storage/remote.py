"""State behind a URL: its names, its owner, and copies for executors.

Executors have to read plans and manifests beside the runs.
"""

from __future__ import annotations

import zlib
from pathlib import Path

import pyarrow.fs as pafs

from optimizer.algebra.errors import InputError, Place


def below(url: str, name: str) -> str:
    """The name of something under a URL, whose options stay at the end.

    >>> below("s3://bucket/topology?region=eu-central-1", "runs")
    's3://bucket/topology/runs?region=eu-central-1'
    """
    place, mark, options = url.partition("?")
    return f"{place.rstrip('/')}/{name}{mark}{options}"


def read_bytes(name: str) -> bytes:
    """The content of a local file or of a URL.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     written = Path(folder, "plan.json").write_text("{}")
    ...     read_bytes(f"{folder}/plan.json")
    b'{}'

    Raises `FileNotFoundError` if there is neither.
    """
    if "://" not in name:
        return Path(name).read_bytes()
    filesystem, path = pafs.FileSystem.from_uri(name)
    with filesystem.open_input_stream(path) as source:
        content: bytes = source.read()
    return content


def write_bytes(url: str, content: bytes) -> None:
    """Write what a URL names: as a whole or not at all."""
    filesystem, path = pafs.FileSystem.from_uri(url)
    with filesystem.open_output_stream(path) as target:
        target.write(content)


def delete(url: str) -> None:
    """Delete what a URL names, if it is there."""
    filesystem, path = pafs.FileSystem.from_uri(url)
    try:
        filesystem.delete_file(path)
    except FileNotFoundError:
        return


class Shelf:
    """Copies of a checkpoint's plans and manifests under its state's URL.

    Executors that do not see the checkpoint read them. A copy's name follows from its content, so it never
    changes.
    """

    def __init__(self, url: str) -> None:
        self._url = below(url, "shelf")
        self._copies: dict[Path, str] = {}

    def put(self, path: Path) -> str:
        """The URL of a copy of a file, made if it is not there.

        Earlier ones of the same folder go.
        """
        content = path.read_bytes()
        name = below(self._url, f"{path.parent.name}-{path.stem}-{zlib.crc32(content):08x}.json")
        if self._copies.get(path) != name:
            write_bytes(name, content)
            for other in [known for known in self._copies if known.parent == path.parent]:
                delete(self._copies.pop(other))
            self._copies[path] = name
        return name


def claim(url: str, owner: str) -> None:
    """Make `owner`, a checkpoint's id, the only one whose state lies under a URL.

    Everybody writes a claim and looks for others' afterwards, so of two that come at the same time at
    least one sees the other; whoever sees another gives up. It takes a store that lists what was
    written, as S3 has done since 2020.

    Raises `InputError` if somebody else has claimed it.
    """
    filesystem, folder = pafs.FileSystem.from_uri(below(url, "owners"))
    own = below(url, f"owners/{owner}")
    claims = _claims(filesystem, folder)
    if owner not in claims:
        write_bytes(own, owner.encode())
        others = _claims(filesystem, folder) - {owner}
        if others:
            delete(own)
    else:
        others = claims - {owner}
    if others:
        raise InputError(
            "in-use",
            Place(url),
            f"the state of checkpoint {min(others)}",
            "a place that no other checkpoint uses; if that one is gone for good, delete everything there",
        )


def _claims(filesystem: pafs.FileSystem, folder: str) -> set[str]:
    found = filesystem.get_file_info(pafs.FileSelector(folder, allow_not_found=True))
    return {info.base_name for info in found if info.type == pafs.FileType.File}
