"""Give a query's text its meaning over streams and, as views, other queries.

A draft reads the current versions of other queries; a written version reads the versions
that were current when it was written (`QueryVersion.reads`), for ever.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Set
from dataclasses import dataclass

from django.contrib.auth.models import AnonymousUser, User

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.catalog.models import QueryVersion
from backend.catalog.parsing import MAX_CHARACTERS, Texts, VersionText, parse_texts, read_text
from backend.catalog.queries import readable_queries
from backend.streams.queries import readable_catalog
from optimizer.algebra.errors import InputError
from optimizer.logical.catalog import Catalog
from optimizer.logical.query import Query

_WORDS = re.compile(r"[a-z0-9_-]+")
"""Names of queries are made of these, also where they are quoted."""


def texts_of(keys: Iterable[int]) -> dict[int, VersionText]:
    """Written versions by primary key, with everything that they read."""
    found: dict[int, VersionText] = {}
    pending = set(keys)
    while pending:
        versions = QueryVersion.objects.filter(pk__in=pending).select_related("query")
        reads: dict[int, list[int]] = {}
        links = QueryVersion.reads.through.objects.filter(from_queryversion__in=pending)
        ordered = links.order_by("to_queryversion__query__name")
        for reader, view in ordered.values_list("from_queryversion_id", "to_queryversion_id"):
            reads.setdefault(reader, []).append(view)
        for version in versions:
            own = tuple(reads.get(version.pk, ()))
            found[version.pk] = VersionText(version.query.name, version.sql, own)
        pending = {view for views in reads.values() for view in views} - found.keys()
    return found


def parse_versions(versions: Iterable[QueryVersion], catalog: Catalog) -> dict[int, Query]:
    """The meaning of written versions, by primary key; every view flattened.

    For tasks: a request gives the texts to a worker (`backend.bounded`). Raises `InputError` when a text
    no longer has a meaning (a stream was registered under a view's name).
    """
    return parse_texts(texts_of([version.pk for version in versions]), catalog)


def words_of(text: str) -> set[str]:
    """Everything in a text that may be the name of a query, and more."""
    words = set(_WORDS.findall(text[:MAX_CHARACTERS].casefold()))
    # A minus between two names may be one name, or two and a minus.
    return words | {part for word in words for part in word.split("-")}


def texts_for(account: User | AnonymousUser, text: str, without: str) -> Texts:
    """What a draft may read: all other queries' names, and the texts that it names.

    A query cannot read itself, so the one that is edited is left out.
    """
    return texts_naming(account, words_of(text), without)


def texts_naming(account: User | AnonymousUser, words: Set[str], without: str | None = None) -> Texts:
    """Queries that a text may name.

    The names of all that the account reads, but one, and the texts of those among the words.
    """
    records = readable_queries(account).exclude(current=None).order_by("name")
    if without is not None:
        records = records.exclude(name=without)
    current = dict(records.values_list("name", "current_id"))
    return Texts(current, texts_of(key for name, key in current.items() if name in words))


@dataclass(frozen=True, slots=True)
class Draft:
    """A text as it stands in the editor: its meaning, or everything wrong with it."""

    query: Query | None
    errors: tuple[InputError, ...]
    reads: tuple[QueryVersion, ...]
    catalog: Catalog
    hints: tuple[InputError, ...]
    """What it leaves open."""


def read_draft(account: User | AnonymousUser, caller: Caller, text: str, name: str) -> Draft:
    """Check a text as query `name`, in a worker.

    Over the streams and queries that the account reads.

    No text makes it raise, only a caller's limits do.
    """
    catalog = readable_catalog(account)
    texts = texts_for(account, text, without=name)
    found = pool.reading().run(caller, read_text, text, name, catalog, texts)
    reads = QueryVersion.objects.in_bulk(found.reads)
    return Draft(found.query, found.errors, tuple(reads[key] for key in found.reads), catalog, found.hints)
