"""An operator's word that a query may cost more than its limits say."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_non_operators
from backend.audit.actions import Subject, record
from backend.audit.changes import changed
from backend.catalog.models import Query
from backend.topologies.models import QueryAllowance, TopologyQuery


def is_allowed(query: Query) -> bool:
    """True if the limits on estimates, state and results do not hold for the query."""
    return QueryAllowance.objects.filter(query=query).exists()


def allow_query(account: User, query: Query, allowed: bool) -> None:
    """Let a query cost what it costs, or hold it to its limits again.

    What a step may make in one batch stays bounded: that protects the memory of all.
    """
    refuse_non_operators(account, f"say that {query.name} may cost more")
    with transaction.atomic():
        before = is_allowed(query)
        if allowed:
            QueryAllowance.objects.get_or_create(query=query, defaults={"by": account})
        else:
            QueryAllowance.objects.filter(query=query).delete()
        if before != allowed:
            deployment = TopologyQuery.objects.filter(query=query).select_related("topology").first()
            record(
                account,
                "allow" if allowed else "limit",
                Subject.of("query", query),
                topology="" if deployment is None else deployment.topology.name,
                detail=query.name,
                changes=changed({"allowed": before}, {"allowed": allowed}),
            )
