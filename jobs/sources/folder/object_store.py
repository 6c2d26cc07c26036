"""List and read folders in an object store that speaks S3's protocol.

The store's address and keys are in the environment alone: in no plan, checkpoint, log or answer of the API. A
folder is a prefix of names; a file that is written again has another time of change, or another size.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from optimizer.algebra.errors import InputError, Place

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.fs as pafs

ENDPOINT = "MILLRACE_S3_ENDPOINT"
ACCESS_KEY = "MILLRACE_S3_ACCESS_KEY"
SECRET_KEY = "MILLRACE_S3_SECRET_KEY"
REGION = "MILLRACE_S3_REGION"
_CONNECT_S = 5.0
_ANSWER_S = 20.0
"""For an answer of the store; without one it counts as away."""


class RewrittenObject(Exception):
    """An object is another one than when it was opened.

    `size` is its size now, in bytes.
    """

    def __init__(self, size: int) -> None:
        super().__init__(f"an object that was written again, with {size} bytes")
        self.size = size


@dataclass(frozen=True, slots=True)
class Account:
    """Where the store is, and who asks it."""

    endpoint: str | None
    """A URL; None for Amazon's own."""
    region: str | None
    access_key: str | None = field(repr=False)
    """None for what the machine itself may read."""
    secret_key: str | None = field(repr=False)

    def options(self) -> dict[str, Any]:
        """As the client library calls them."""
        found: dict[str, Any] = {"connect_timeout": _CONNECT_S, "request_timeout": _ANSWER_S}
        if self.endpoint is not None:
            url = urlsplit(self.endpoint)
            found |= {"scheme": url.scheme, "endpoint_override": url.netloc}
        if self.region is not None:
            found["region"] = self.region
        if self.access_key is not None:
            found |= {"access_key": self.access_key, "secret_key": self.secret_key}
        return found


def account(environment: Mapping[str, str] = os.environ) -> Account:
    """The deployment's account with its store.

    >>> account({"MILLRACE_S3_ENDPOINT": "http://store:9000", "MILLRACE_S3_REGION": "eu-central-1"})
    Account(endpoint='http://store:9000', region='eu-central-1')

    Raises `InputError` for an endpoint that is no URL, and for one key without the other.
    """
    endpoint, region, access, secret = (
        environment.get(name, "").strip() or None for name in (ENDPOINT, REGION, ACCESS_KEY, SECRET_KEY)
    )
    if endpoint is not None:
        url = urlsplit(endpoint)
        if url.scheme not in ("http", "https") or not url.netloc or "@" in url.netloc or url.path.strip("/"):
            # What it was is not told: a key may stand in it.
            place = Place("environment", path=ENDPOINT)
            raise InputError(
                "bad-endpoint", place, "another text", "a URL such as https://store.example:9000"
            )
    if (access is None) != (secret is None):
        name, other = (SECRET_KEY, ACCESS_KEY) if secret is None else (ACCESS_KEY, SECRET_KEY)
        raise InputError(
            "no-key", Place("environment", path=name), "nothing", f"the key that goes with {other}"
        )
    return Account(endpoint, region, access, secret)


def objects_below(url: str) -> Iterator[tuple[str, int, int]]:
    """Name, size and time of change of the objects right below a URL.

    In no order; times are nanoseconds since 1970.
    Nothing tells a prefix without an object from an empty one.

    Raises `OSError` while the store is away.
    """
    import pyarrow.fs as pafs

    path = _path(url)
    for info in _store().get_file_info(pafs.FileSelector(path, allow_not_found=True, recursive=False)):
        if info.type is pafs.FileType.File:
            yield info.base_name, info.size, info.mtime_ns


@contextmanager
def opened_object(url: str, name: str) -> Iterator[tuple[pa.NativeFile, tuple[int, int]]]:
    """An object, open, with its size and time of change.

    Raises `FileNotFoundError` for one that is not there, and `RewrittenObject` when it is closed.
    """
    store, path = _store(), f"{_path(url)}/{name}"
    with store.open_input_file(path) as file:
        version = file.metadata().get("ETag")
        info = store.get_file_info(path)
        yield file, (info.size, info.mtime_ns)
    with store.open_input_file(path) as again:
        if again.metadata().get("ETag") != version:
            raise RewrittenObject(again.size())


def _path(url: str) -> str:
    return url.removeprefix("s3://").rstrip("/")


def _store() -> pafs.S3FileSystem:
    return _connected(account())


@cache
def _connected(asked: Account) -> pafs.S3FileSystem:
    import pyarrow.fs as pafs

    return pafs.S3FileSystem(**asked.options())
