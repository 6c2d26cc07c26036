"""Cursors: how far a subscriber is."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

_CURSOR = re.compile(r"([0-9a-f]{8})\.([0-9]{1,18})\.([0-9]{1,18})")
_BATCH = re.compile(r"[0-9]{1,18}")


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place of the next result: a row of a batch of a checkpoint.

    >>> str(Cursor("0123abcd", 17, 3))
    '0123abcd.17.3'
    """

    checkpoint: str
    """The beginning of its id: batches of another one have the same numbers."""
    batch: int
    row: int
    """Of the batch's results, in the order of its files."""

    def __str__(self) -> str:
        return f"{self.checkpoint}.{self.batch}.{self.row}"


Since = Cursor | int | Literal["earliest"] | None
"""Where a subscription begins: at a cursor, with a batch, with all that is kept, with what comes from now
on."""


def read_since(text: str) -> Since:
    """A cursor, a batch's number, `earliest`, or None.

    None, of an empty text, is what comes from now on.

    >>> read_since("0123abcd.17.3"), read_since("17"), read_since("earliest"), read_since("")
    (Cursor(checkpoint='0123abcd', batch=17, row=3), 17, 'earliest', None)

    Raises `ValueError` for any other text.
    """
    if not text:
        return None
    if text == "earliest":
        return "earliest"
    if _BATCH.fullmatch(text):
        return int(text)
    found = _CURSOR.fullmatch(text)
    if found is None:
        raise ValueError(
            f"found {text[:40]!r}, expected a cursor as an answer had it, the number of a batch, or earliest"
        )
    return Cursor(found[1], int(found[2]), int(found[3]))
