"""Digests of structure, equal in every process and on every machine.

Sharing is equality of digests (STYLE: a node's name is a digest of its operands), so a digest
covers everything that makes two elements behave differently and nothing else: no query name,
no order in which something was written, no memory address.
"""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import Enum
from hashlib import blake2b
from typing import TypeAlias

Plain: TypeAlias = "bool | int | float | str | list[Plain] | None"

ADDED: Mapping[str, bool] = {"added": True}
"""Metadata of a field that identities leave out at its default, as before it was there."""


class Scalar(ABC):
    """A value that identities and documents hold as one scalar, whatever its class."""

    __slots__ = ()

    @property
    @abstractmethod
    def document(self) -> bool | int | float | str | None:
        """The scalar."""


def digest(prefix: str, *parts: object) -> str:
    """`prefix-` and ten hexadecimal digits that identify the structure of `parts`.

    Parts are scalars, enums, frozen dataclasses, tuples, lists and frozensets of such. Sets are
    ordered by their members' encoding, so no hash seed reaches an identity.

    >>> digest("S", "departures", ("origin", 4)) == digest("S", "departures", ["origin", 4])
    True
    >>> digest("S", frozenset({"a", "b"})) == digest("S", frozenset({"b", "a"}))
    True

    Raises `TypeError` for a part of another type: an identity must never rest on `repr`.
    """
    text = json.dumps([_plain(part) for part in parts], ensure_ascii=True, separators=(",", ":"))
    return f"{prefix}-{blake2b(text.encode(), digest_size=5).hexdigest()}"


def _plain(part: object) -> Plain:
    # Booleans and enums before their base types: True must not be 1, nor an enum its bare text's class.
    match part:
        case bool() | None:
            return part
        case Enum():
            return str(part.value)
        case int() | str():
            return part
        case float():
            # 1.0 and 1 are different literals; JSON would keep them apart only by accident.
            return ["float", part.hex()]
        case Scalar():
            return _plain(part.document)
        case tuple() | list():
            return [_plain(item) for item in part]
        case frozenset() | set():
            return ["set", *sorted((_plain(item) for item in part), key=json.dumps)]
    if is_dataclass(part) and not isinstance(part, type):
        values = ((field, getattr(part, field.name)) for field in fields(part))
        told = (v for field, v in values if "added" not in field.metadata or v != field.default)
        return [type(part).__name__, *map(_plain, told)]
    raise TypeError(f"cannot build an identity from {type(part).__name__}")
