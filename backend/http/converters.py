"""URL parts that any database can look up; others are 404, not an overflow."""

from __future__ import annotations

from django.urls.converters import IntConverter, StringConverter


class NameConverter(StringConverter):
    """A stream's, query's or topology's name."""

    regex = "[a-z_][a-z0-9_-]{0,62}"


class KeyConverter(IntConverter):
    """A primary key that fits 32 bits."""

    regex = "[0-9]{1,9}"


class RunConverter(StringConverter):
    """A run's id."""

    regex = "[0-9a-f]{16}"
