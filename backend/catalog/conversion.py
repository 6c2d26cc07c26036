"""Convert a text's binary joins to multi-way joins; nothing is saved."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib.auth.models import AnonymousUser, User

from backend.bounded import pool
from backend.bounded.caller import Caller
from backend.catalog.language import texts_for, words_of
from backend.catalog.parsing import ConvertedText, convert_text, refuse_too_long
from backend.catalog.queries import readable_queries
from backend.streams.queries import readable_catalog
from optimizer.conversion import Unregistered, unregistered


def converted(
    account: User | AnonymousUser, caller: Caller, text: str, name: str, window: str
) -> ConvertedText:
    """The plans before and after, and the whole query over streams.

    Over streams and other queries that the account reads, by name.

    Args:
        name: of the query that is converted, which does not read itself; also what errors call it.
        window: of each stream that has none, such as `1 HOUR`.

    Raises:
        optimizer.algebra.errors.InputError: the text, or the window, has no meaning here.
    """
    refuse_too_long(text, name)
    views = _views(account, text, name)
    texts = texts_for(account, text, without=name)
    return pool.plan(caller, convert_text, text, name, readable_catalog(account), views, texts, window)


def unregistered_in(account: User | AnonymousUser, caller: Caller, text: str) -> Unregistered:
    """The tables of a text that are neither streams nor queries to the account.

    Raises:
        optimizer.algebra.errors.InputError: the text is no query.
    """
    refuse_too_long(text, "query")
    names = readable_queries(account).exclude(current=None).order_by("name").values_list("name", flat=True)
    return pool.plan(caller, unregistered, text, readable_catalog(account), tuple(names))


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
