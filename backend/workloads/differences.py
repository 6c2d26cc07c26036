"""What differs between what a directory says and what there is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Difference:
    """A field that changes; values as JSON has them."""

    field: str
    before: Any
    after: Any
