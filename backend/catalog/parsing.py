"""Give a text its meaning from texts alone, as workers have no database."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from optimizer.algebra.errors import InputError, Place
from optimizer.conversion import ContinuousQuery, ConvertedQuery, continuous, convert, document, window_of
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query
from optimizer.sql import check, format_query, hints, parse_query

MAX_CHARACTERS = 100_000


@dataclass(frozen=True, slots=True)
class VersionText:
    """A written version of a query."""

    name: str
    sql: str
    reads: tuple[int, ...]
    """The keys of the versions that it reads as views, in the order of their names. Each was written
    before this one, so its key is smaller."""


@dataclass(frozen=True, slots=True)
class Texts:
    """Written versions by key, with all that they read, and the current ones by name.

    `current` has the names of all queries that a draft might mean, `versions` the texts of those that
    it does.
    """

    current: Mapping[str, int]
    versions: Mapping[int, VersionText]


@dataclass(frozen=True, slots=True)
class Meaning:
    """A text's meaning, or everything wrong with it, as it stands in the editor."""

    query: Query | None
    errors: tuple[InputError, ...]
    reads: tuple[int, ...]
    """The keys of the versions that it reads as views."""
    hints: tuple[InputError, ...] = ()
    """What it leaves open; nothing is refused for it."""


@lru_cache(maxsize=1024)
def _parse(text: str, name: str, catalog: Catalog, views: tuple[Query, ...]) -> Query:
    return parse_query(text, name, catalog, {view.name: view for view in views})


def parse_texts(versions: Mapping[int, VersionText], catalog: Catalog) -> dict[int, Query]:
    """The meaning of written versions, by key; every view flattened.

    Raises `InputError` when a text no longer has one (a stream was registered under a view's name).
    """
    parsed: dict[int, Query] = {}
    for key in sorted(versions):
        version = versions[key]
        views = tuple(parsed[view] for view in version.reads)
        parsed[key] = _parse(version.sql, version.name, catalog, views)
    return parsed


class _CurrentVersions(Mapping[str, Query]):
    """The current versions of queries, parsed when asked for; remembers which were."""

    def __init__(self, texts: Texts, catalog: Catalog) -> None:
        self._texts = texts
        self._catalog = catalog
        self.used: dict[str, int] = {}

    def __getitem__(self, name: str) -> Query:
        key = self._texts.current[name]
        self.used[name] = key
        return parse_texts(_read_by(self._texts.versions, key), self._catalog)[key]

    def __contains__(self, name: object) -> bool:
        # Mapping's own would parse the view.
        return name in self._texts.current

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts.current)

    def __len__(self) -> int:
        return len(self._texts.current)


def _read_by(versions: Mapping[int, VersionText], key: int) -> dict[int, VersionText]:
    """A version with everything that it reads."""
    found: dict[int, VersionText] = {}
    pending = [key]
    while pending:
        one = pending.pop()
        if one not in found:
            found[one] = versions[one]
            pending += versions[one].reads
    return found


def refuse_too_long(text: str, name: str) -> None:
    """Raises `InputError` for a text that no person wrote."""
    if len(text) > MAX_CHARACTERS:
        found = f"{len(text)} characters"
        raise InputError("too-long", Place(name, 1, 1), found, f"at most {MAX_CHARACTERS}")


def read_text(text: str, name: str, catalog: Catalog, texts: Texts) -> Meaning:
    """Check a text as query `name`. Raises nothing for any text."""
    views = _CurrentVersions(texts, catalog)
    try:
        refuse_too_long(text, name)
    except InputError as error:
        return Meaning(None, (error,), ())
    try:
        query = parse_query(text, name, catalog, views)
    except InputError as first:
        found = check(text, catalog, views)
        return Meaning(None, tuple(found) or (first,), ())
    used = tuple(views.used[view] for view in sorted(views.used))
    return Meaning(query, (), used, tuple(hints(text, catalog, views)))


def formatted(text: str) -> str:
    """The text as the editor lays it out. Raises `InputError`."""
    refuse_too_long(text, "query")
    return format_query(text)


@dataclass(frozen=True, slots=True)
class ConvertedText:
    """What a text of nested joins becomes."""

    plans: ConvertedQuery
    whole: ContinuousQuery


def convert_text(
    text: str, name: str, catalog: Catalog, views: Mapping[str, str], texts: Texts, window: str
) -> ConvertedText:
    """Convert a text: its plans before and after, and the whole over streams.

    Args:
        text: the query's.
        name: the query's, which errors call it by.
        catalog: the registered streams.
        views: other queries' texts by name, which plans are drawn of.
        texts: the same as written versions, which the whole query reads.
        window: of each stream that has none, such as `1 HOUR`.

    Raises:
        InputError: text or window have no meaning.
    """
    length = window_of(window)
    plans = document(name, convert(text, catalog, views, name))
    return ConvertedText(plans, continuous(text, catalog, length, _CurrentVersions(texts, catalog), name))
