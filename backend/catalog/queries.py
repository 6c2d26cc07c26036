"""Which queries an account reads, and who made them.

One may belong to another account by now.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet

from backend.accounts.reading import readable, reads_everything
from backend.catalog.models import Query, QueryVersion, VersionInput
from backend.streams.models import Stream


def hidden_queries(account: User | AnonymousUser) -> frozenset[int]:
    """The keys of the queries that the account does not read.

    To read a query one reads all that its versions read: a text shows what is joined on, and results show
    tuples. So a query is hidden with a stream or a view of it, also where its own team is open.
    """
    if reads_everything(account):
        return frozenset()
    own = Query.objects.exclude(pk__in=Query.objects.filter(readable(account)).values("pk"))
    streams = Stream.objects.exclude(pk__in=Stream.objects.filter(readable(account)).values("pk"))
    inputs = VersionInput.objects.filter(stream__in=streams)
    hidden = {*own.values_list("pk", flat=True), *inputs.values_list("version__query_id", flat=True)}
    readers: dict[int, set[int]] = {}
    for reader, view in QueryVersion.reads.through.objects.values_list(
        "from_queryversion__query_id", "to_queryversion__query_id"
    ):
        readers.setdefault(view, set()).add(reader)
    pending = list(hidden)
    while pending:
        found = readers.get(pending.pop(), set()) - hidden
        hidden |= found
        pending += found
    return frozenset(hidden)


def readable_queries(account: User | AnonymousUser) -> QuerySet[Query]:
    """The queries that the account reads."""
    hidden = hidden_queries(account)
    return Query.objects.exclude(pk__in=hidden) if hidden else Query.objects.all()


def maker_of(query: Query) -> User:
    """The account that wrote the query's first version."""
    first = QueryVersion.objects.select_related("created_by").filter(query=query).order_by("number").first()
    return query.owner if first is None else first.created_by


def queries_of(account_id: int) -> QuerySet[Query]:
    """The queries that the account made."""
    return Query.objects.filter(versions__number=1, versions__created_by=account_id)
