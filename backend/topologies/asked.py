"""What a topology was ever asked to answer.

Its plans, logs and results still speak of it.
"""

from __future__ import annotations

from collections.abc import Set
from typing import Any

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import Q, QuerySet

from backend.accounts.models import Team
from backend.accounts.reading import is_private, readable, reads_everything
from backend.catalog.models import Query, QueryVersion
from backend.errors import Conflict
from backend.streams.models import Stream
from backend.topologies.models import AskedQuery, Topology


def note_asked(topology: Topology, query: Query) -> None:
    """Remember that a topology was asked to answer a query.

    Also for the time when it no longer does.
    """
    AskedQuery.objects.get_or_create(topology=topology, query=query)


def not_readable(account: User | AnonymousUser, hidden: Set[int]) -> QuerySet[AskedQuery]:
    """What topologies were asked to answer that the account does not read.

    Args:
        hidden: `backend.catalog.queries.hidden_queries` of the account.
    """
    left = AskedQuery.objects.filter(readable(account), query=None).values("pk")
    gone = Q(query=None) & ~Q(pk__in=left)
    return AskedQuery.objects.filter(Q(query__in=hidden) | gone)


def keep_readers(instance: Query, **_: Any) -> None:
    """Keep what a query leaves in topologies for those who read it.

    Before it is deleted.
    """
    asked = AskedQuery.objects.filter(query=instance)
    if asked.exists():
        asked.update(name=instance.name, owner=instance.owner_id, team=_reserved_by(instance))


def refuse_names_of_others(name: str, account: User, **_: Any) -> None:
    """Raise `Conflict` for the name of a deleted query that the account did not read.

    Results that are kept, and old plans, have it for what that query found.
    """
    if reads_everything(account):
        return
    left = AskedQuery.objects.filter(query=None, name=name)
    if left.exclude(pk__in=AskedQuery.objects.filter(readable(account)).values("pk")).exists():
        raise Conflict("name-taken", f"there is a query {name} already")


def _reserved_by(query: Query) -> Team | None:
    """The team that kept the query to itself.

    Its own, or that of a stream or view of it.
    """
    read, pending = {query.pk}, {query.pk}
    while pending:
        links = QueryVersion.reads.through.objects.filter(from_queryversion__query__in=pending)
        pending = set(links.values_list("to_queryversion__query", flat=True)) - read
        read |= pending
    streams = Stream.objects.filter(readers__version__query=query)
    teams = Team.objects.filter(Q(queries__in=read) | Q(streams__in=streams)).distinct()
    private = [team for team in teams if is_private(team)]
    return query.team if query.team in private or not private else private[0]
