"""Files of a folder, opened as they were found, or else told of."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from io import UnsupportedOperation
from typing import BinaryIO, Protocol, cast

from jobs.sources.folder.allowed import open_file, opened_folder, plain, url_of
from jobs.sources.folder.object_store import RewrittenObject, opened_object
from optimizer.algebra.errors import InputError, Place

SKIP = "give the stream the setting faulty: skip to go on behind it, with a dead letter that names it"


class Found(Protocol):
    """A file as it was found."""

    @property
    def folder(self) -> str: ...
    @property
    def name(self) -> str: ...
    @property
    def size(self) -> int: ...
    @property
    def mtime_ns(self) -> int: ...


@contextmanager
def opened_as(found: Found) -> Iterator[BinaryIO]:
    """The file, open, if before and afterwards it is the one that was found.

    Raises `InputError` for one that was changed, is gone or is not ours to read, and `OSError` while its
    folder cannot be reached: then nothing is known of the file.
    """
    url = url_of(found.folder)
    if url is not None:
        with _opened_in_store(found, url) as file:
            yield file
        return
    with opened_folder(found.folder) as folder:
        try:
            descriptor = open_file(folder, found.name)
        except (FileNotFoundError, PermissionError) as error:
            raise gone(found.folder, found.name, error.strerror or str(error)) from error
        except OSError as error:
            if error.errno != errno.ELOOP:
                raise
            raise gone(found.folder, found.name, "a symbolic link") from error
    with os.fdopen(descriptor, "rb") as file:
        _check(found, descriptor)
        yield file
        _check(found, descriptor)


@contextmanager
def _opened_in_store(found: Found, url: str) -> Iterator[BinaryIO]:
    try:
        with opened_object(url, plain(found.name)) as (file, (size, mtime_ns)):
            if (size, mtime_ns) != (found.size, found.mtime_ns):
                raise changed(found.folder, found.name, found.size, size)
            yield cast(BinaryIO, file)
    except FileNotFoundError as error:
        raise gone(found.folder, found.name) from error
    except RewrittenObject as error:
        raise changed(found.folder, found.name, found.size, error.size) from error


def _check(found: Found, descriptor: int) -> None:
    now = os.fstat(descriptor)
    if (now.st_size, now.st_mtime_ns) != (found.size, found.mtime_ns):
        raise changed(found.folder, found.name, found.size, now.st_size)


def path_of(file: BinaryIO) -> str | BinaryIO:
    """What libraries that want a path take: that of an open file, or an object itself."""
    try:
        return f"/dev/fd/{file.fileno()}"
    except UnsupportedOperation:
        return file


def gone(folder: str, name: str, found: str = "no such file") -> InputError:
    """What to tell of a file that is gone, though it was not read to its end."""
    return InputError(
        "vanished-file",
        Place(f"{folder}/{name}"),
        found,
        f"the file to stay until it was read to its end; {SKIP}",
    )


def changed(folder: str, name: str, before: int, now: int) -> InputError:
    """What to tell of a file that has another content than when it was found."""
    sizes = f"{now} bytes, where there were {before}" if before != now else f"{now} bytes"
    return InputError(
        "changed-file",
        Place(f"{folder}/{name}"),
        f"a file that was changed since it was found: {sizes}",
        f"files that stay as they are: write them elsewhere and rename them; {SKIP}",
    )


def late(folder: str, name: str, last: str) -> InputError:
    """What to tell of a file whose turn is over."""
    return InputError(
        "late-file",
        Place(f"{folder}/{name}"),
        f"a file that came, or was changed, when files up to {last} had been read",
        f"new files with names that sort behind {last}; {SKIP}",
    )
