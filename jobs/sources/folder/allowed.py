"""The directories whose files streams may read, and nothing else.

`MILLRACE_FILES_DIRECTORIES` names them: `landing=/srv/landing,archive=/mnt/archive`. A stream says
`landing/orders`. Below a directory each part is opened beneath the one before, and none that is a symbolic
link: what a stream names lies where it seems to, also if somebody changes the folders meanwhile.

A directory may also be a bucket, or a prefix in one: `lake=s3://bucket/prefix` (`object_store`).
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from optimizer.algebra.errors import InputError, Place

DIRECTORIES = "MILLRACE_FILES_DIRECTORIES"
EXPECTED = (
    "NAME=PATH of a directory or NAME=s3://BUCKET/PREFIX, several with commas between, such as "
    "landing=/srv/landing"
)
_ENTRY = re.compile(r"([A-Za-z0-9_-]+)=(/.*|s3://[A-Za-z0-9._-]+(?:/[^?#]*)?)")


def directories(environment: Mapping[str, str] = os.environ) -> dict[str, str]:
    """The paths or URLs of the directories that the operator allows, by name.

    >>> directories({"MILLRACE_FILES_DIRECTORIES": "landing=/srv/landing, archive=/mnt/archive"})
    {'landing': '/srv/landing', 'archive': '/mnt/archive'}

    Raises `InputError` for a value that is no list of them.
    """
    found = {}
    for text in environment.get(DIRECTORIES, "").split(","):
        if not text.strip():
            continue
        entry = _ENTRY.fullmatch(text.strip())
        if entry is None:
            raise InputError("bad-directories", Place("environment", path=DIRECTORIES), repr(text), EXPECTED)
        found[entry[1]] = entry[2]
    return found


def url_of(folder: str) -> str | None:
    """The URL of a folder in an object store; None of one in a directory.

    A folder is NAME/PART/PART.
    Raises `InputError` unless the operator allows a directory NAME, and `OSError`
    for a part that is no name.
    """
    root, parts = _rooted(folder)
    if not root.startswith("s3://"):
        return None
    return "/".join([root.rstrip("/"), *map(plain, parts)])


def _rooted(folder: str) -> tuple[str, list[str]]:
    name, *parts = folder.split("/")
    allowed = directories()
    if name not in allowed:
        expected = f"a directory {name}, for the folder {folder}"
        found = f"the directories {', '.join(allowed)}" if allowed else "nothing"
        raise InputError("no-directory", Place("environment", path=DIRECTORIES), found, expected)
    return allowed[name], parts


@contextmanager
def opened_folder(folder: str) -> Iterator[int]:
    """The descriptor of a folder, NAME/PART/PART.

    Raises `InputError` unless the operator allows a directory NAME, and `OSError` for a folder that is not
    there or lies behind a symbolic link.
    """
    root, parts = _rooted(folder)
    descriptor = os.open(root, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for part in parts:
            flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
            below = os.open(plain(part), flags, dir_fd=descriptor)
            os.close(descriptor)
            descriptor = below
        yield descriptor
    finally:
        os.close(descriptor)


def open_file(folder: int, name: str) -> int:
    """The descriptor of a plain file in a folder. Raises `OSError` for anything else."""
    # A pipe without a writer must not hold us up.
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(plain(name), flags, dir_fd=folder)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise FileNotFoundError(f"{name} is no plain file")
    return descriptor


def plain(part: str) -> str:
    """A name that leads nowhere else: the last gate, if others were passed."""
    if part in ("", ".", "..") or "/" in part or "\0" in part:
        raise FileNotFoundError(f"{part!r} is no name in a folder")
    return part
