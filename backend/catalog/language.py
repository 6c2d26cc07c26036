"""What a query's text means here: the registry's streams, and other queries as views.

A draft reads the current versions of other queries; a written version reads the versions
that were current when it was written (`QueryVersion.reads`), for ever.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache

from backend.catalog.models import Query as QueryRecord
from backend.catalog.models import QueryVersion
from backend.streams.queries import load_catalog
from optimizer.catalog import Catalog
from optimizer.errors import InputError, Place
from optimizer.query import Query
from optimizer.sql import check, parse_query

MAX_CHARACTERS = 100_000


@lru_cache(maxsize=1024)
def _parse(text: str, name: str, catalog: Catalog, views: tuple[Query, ...]) -> Query:
    return parse_query(text, name, catalog, {view.name: view for view in views})


def parse_versions(versions: Iterable[QueryVersion], catalog: Catalog) -> dict[int, Query]:
    """The meaning of written versions, by primary key; every view flattened.

    Raises `InputError` when a text no longer has one (a stream was registered under a view's name).
    """
    parsed: dict[int, Query] = {}

    def parse(version: QueryVersion) -> Query:
        if version.pk not in parsed:
            reads = version.reads.select_related("query").order_by("query__name")
            views = tuple(parse(view) for view in reads)
            parsed[version.pk] = _parse(version.sql, version.query.name, catalog, views)
        return parsed[version.pk]

    for version in versions:
        parse(version)
    return parsed


class CurrentVersions(Mapping[str, Query]):
    """The current versions of all queries but one, parsed when asked for; remembers which were.

    A query cannot read itself, so the one that is edited is left out.
    """

    def __init__(self, catalog: Catalog, without: str) -> None:
        self._catalog = catalog
        records = (
            QueryRecord.objects.exclude(name=without).exclude(current=None).select_related("current__query")
        )
        self._versions = {record.name: record.current for record in records.order_by("name")}
        self.used: dict[str, QueryVersion] = {}

    def __getitem__(self, name: str) -> Query:
        version = self._versions[name]
        assert version is not None  # the constructor leaves out queries without one
        self.used[name] = version
        return parse_versions([version], self._catalog)[version.pk]

    def __contains__(self, name: object) -> bool:
        # Mapping's own would parse the view.
        return name in self._versions

    def __iter__(self) -> Iterator[str]:
        return iter(self._versions)

    def __len__(self) -> int:
        return len(self._versions)


def refuse_too_long(text: str, name: str) -> None:
    """Raises `InputError` for a text that no person wrote."""
    if len(text) > MAX_CHARACTERS:
        found = f"{len(text)} characters"
        raise InputError("too-long", Place(name, 1, 1), found, f"at most {MAX_CHARACTERS}")


@dataclass(frozen=True, slots=True)
class Draft:
    """A text as it stands in the editor: its meaning, or everything that is wrong with it."""

    query: Query | None
    errors: tuple[InputError, ...]
    reads: tuple[QueryVersion, ...]
    catalog: Catalog


def read_draft(text: str, name: str) -> Draft:
    """Check a text as query `name`. Never raises for any text."""
    catalog = load_catalog()
    views = CurrentVersions(catalog, without=name)
    try:
        refuse_too_long(text, name)
    except InputError as error:
        return Draft(None, (error,), (), catalog)
    try:
        query = parse_query(text, name, catalog, views)
    except InputError as first:
        found = check(text, catalog, views)
        return Draft(None, tuple(found) or (first,), (), catalog)
    reads = tuple(views.used[view] for view in sorted(views.used))
    return Draft(query, (), reads, catalog)
