"""The names of the topics that results go to."""

from __future__ import annotations

from dataclasses import dataclass
from string import ascii_letters, digits
from typing import Literal

COMMITS = "millrace.commits"
"""By checkpoint the last batch that is in the topics; by topic, `schema/TOPIC`, the schema of Avro values."""
_LEGAL = frozenset(f"{ascii_letters}{digits}_-")


@dataclass(frozen=True, slots=True)
class Topics:
    """Where results go."""

    pattern: str
    """The topics' name; `{query}` in it stands for the query's."""
    format: Literal["json", "avro"] = "json"

    @property
    def has_own(self) -> bool:
        """True if every query has a topic of its own."""
        return "{query}" in self.pattern

    def of(self, query: str) -> str:
        """The topic of a query, which no other query has.

        What is neither a letter, a digit, `_` nor `-` is written as its bytes, and so is all of a name that
        would stand for `COMMITS`.

        >>> Topics("millrace.{query}").of("late_flights"), Topics("millrace.{query}").of("late flights")
        ('millrace.late_flights', 'millrace.late.20flights')
        """
        topic = self.pattern.replace("{query}", "".join(c if c in _LEGAL else _bytes(c) for c in query))
        if topic == COMMITS:
            return self.pattern.replace("{query}", _bytes(query))
        return topic


def _bytes(text: str) -> str:
    return "".join(f".{byte:02x}" for byte in text.encode())
