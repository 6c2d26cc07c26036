"""The frame of schema registries: a zero byte and a schema's number in four bytes."""

from __future__ import annotations

import struct

from jobs.sources.formats.decode import Unreadable

_HEAD = struct.Struct(">bI")


def unframed(value: bytes | None) -> tuple[int, bytes] | Unreadable:
    """The number of a value's schema, and what is behind it.

    >>> unframed(bytes([0, 0, 0, 0, 7]) + b"{}")
    (7, b'{}')
    >>> unframed(b"{}")
    Unreadable(reason="no schema's number before the value")
    """
    if value is None:
        return Unreadable("no value")
    if len(value) < _HEAD.size or value[0] != 0:
        return Unreadable("no schema's number before the value")
    return _HEAD.unpack_from(value)[1], value[_HEAD.size :]
