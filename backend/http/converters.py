"""URL parts that any database can look up; others are 404, not an overflow."""

from __future__ import annotations


class NameConverter:
    """A stream's, query's or topology's name."""

    regex = "[a-z_][a-z0-9_-]{0,62}"

    def to_python(self, value: str) -> str:
        return value

    def to_url(self, value: str) -> str:
        return value


class KeyConverter:
    """A primary key that fits 32 bits."""

    regex = "[0-9]{1,9}"

    def to_python(self, value: str) -> int:
        return int(value)

    def to_url(self, value: int) -> str:
        return str(value)


class RunConverter(NameConverter):
    """A run's id."""

    regex = "[0-9a-f]{16}"
