"""Convert a text's binary joins to multi-way joins; nothing is saved."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import AnonymousUser, User

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.catalog.language import words_of
from backend.catalog.parsing import convert_text, refuse_too_long
from backend.catalog.queries import readable_queries
from backend.streams.queries import readable_catalog
from optimizer.conversion import ConvertedQuery


def converted(account: User | AnonymousUser, caller: Caller, text: str, name: str) -> ConvertedQuery:
    """The plans before and after.

    Over streams and other queries that the account reads, by name.

    Args:
        name: of the query that is converted, which does not read itself; also what errors call it.

    Raises:
        optimizer.algebra.errors.InputError: the text has no meaning here.
    """
    refuse_too_long(text, name)
    views = _views(account, text, name)
    return pool.plan(caller, convert_text, text, name, readable_catalog(account), views)


def _views(account: User | AnonymousUser, text: str, without: str) -> Mapping[str, str]:
    """All other queries' names, with the texts that this one may read, and theirs."""
    saved = readable_queries(account).exclude(name=without).exclude(current=None).order_by("name")
    views = dict.fromkeys(saved.values_list("name", flat=True), "")
    left = set(views)
    named = words_of(text) & left
    while named:
        left -= named
        texts = dict(saved.filter(name__in=named).values_list("name", "current__sql"))
        views |= texts
        named = set().union(*map(words_of, texts.values())) & left
    return views
