"""How many topologies one account may have."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import QuerySet

from backend.accounts.queries import is_operator
from backend.accounts.quotas import Resource, claim, quotas_of
from backend.catalog.models import Query
from backend.catalog.queries import maker_of, queries_of
from backend.errors import Conflict
from backend.topologies.models import Topology

EMPTIED_PER_USED = 10
"""Topologies without a query that an account may leave behind, in multiples of those with one."""


def topologies_of(account_id: int) -> QuerySet[Topology]:
    """The topologies that answer a query of the account's making."""
    return Topology.objects.filter(deployed__query__in=queries_of(account_id)).distinct()


def claim_topology(account: User, query: Query, target: Topology, is_new: bool) -> None:
    """Let the maker of a query that `account` deploys have one more topology.

    A topology that answers something already runs anyway, whoever is answered by it. To be followed by the
    deployment in the same transaction, see `backend.accounts.quotas.claim`.

    Raises:
        Conflict: the maker has as many as it may, or the account left too many without a query.
    """
    if is_operator(account) or target.deployed.exists():
        return
    maker = maker_of(query)
    claim(maker, Resource.TOPOLOGIES)
    limit = quotas_of(account.pk)[Resource.TOPOLOGIES]
    if is_new and _emptied_by(account.pk, target) >= EMPTIED_PER_USED * limit:
        raise Conflict(
            "too-many-topologies",
            f"{account.get_username()} left {EMPTIED_PER_USED * limit} topologies without a query; "
            "deploy to one of them",
        )


def _emptied_by(account_id: int, but: Topology) -> int:
    """How many others answer nothing whose first query the account deployed."""
    return Topology.objects.filter(deployed=None, made_by=account_id).exclude(pk=but.pk).count()
