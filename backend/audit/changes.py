"""What differs between two states of a thing, short and without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import date, datetime
from urllib.parse import urlsplit

MOST_CHARACTERS = 500
"""Of one value; a longer text is cut."""
MOST_PARTS = 50
"""Of one list or mapping."""
Changes = dict[str, list[object]]
"""Values before and after, by field; as JSON."""


def changed(before: Mapping[str, object], after: Mapping[str, object], hidden: Iterable[str] = ()) -> Changes:
    """The fields with other values than before.

    A field that is on one side only has null on the other.

    Args:
        hidden: fields of which only the first and last part of a web address are told: what is between may be
            a secret.

    >>> changed({"late": "drop", "key": []}, {"late": "join", "key": []})
    {'late': ['drop', 'join']}
    >>> changed({}, {"target": "https://example.org/hook/s3cret"}, hidden=["target"])
    {'target': [None, 'https://example.org/...']}
    """
    secret = frozenset(hidden)
    names = [*before, *(name for name in after if name not in before)]
    return {
        name: [
            _told(value, name in secret) if value is not None else None
            for value in (before.get(name), after.get(name))
        ]
        for name in names
        if before.get(name) != after.get(name)
    }


def without_path(address: str) -> str:
    """A web address without what may be a secret of it.

    >>> without_path("https://ann:pw@example.org:8443/hook/s3cret?key=1"), without_path("ann@example.org")
    ('https://example.org:8443/...', 'ann@example.org')
    """
    parts = urlsplit(address)
    if not parts.netloc:
        return address
    host = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{host}/..."


def _told(value: object, is_hidden: bool) -> object:
    if isinstance(value, str):
        text = without_path(value) if is_hidden else value
        return text if len(text) <= MOST_CHARACTERS else f"{text[:MOST_CHARACTERS]}..."
    if value is None or isinstance(value, bool | int | float):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Mapping):
        return {str(key): _told(one, is_hidden) for key, one in list(value.items())[:MOST_PARTS]}
    if isinstance(value, Iterable):
        return [_told(one, is_hidden) for one in list(value)[:MOST_PARTS]]
    return _told(str(value), is_hidden)
