"""An operator's word on which topology answers a query."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_non_operators
from backend.audit.actions import Subject, record
from backend.audit.changes import changed
from backend.catalog.models import Query
from backend.deployments import actions
from backend.topologies.models import QueryPin, TopologyQuery


def pin_query(account: User, query: Query, topology: str | None) -> None:
    """Have a query answered by this topology only, or, with None, wherever it is put.

    A query that another topology answers moves: its results there end, and the new topology's are
    complete once its stores hold the streams' windows.
    """
    refuse_non_operators(account, f"say which topology answers {query.name}")
    with transaction.atomic():
        present = TopologyQuery.objects.filter(query=query).select_related("topology", "version").first()
        before = QueryPin.objects.filter(query=query).values_list("topology", flat=True).first()
        if topology is None:
            QueryPin.objects.filter(query=query).delete()
        else:
            QueryPin.objects.update_or_create(query=query, defaults={"topology": topology, "by": account})
        if changes := changed({"topology": before}, {"topology": topology}):
            verb = "unpin" if topology is None else "pin"
            named = topology or before or ""
            subject = Subject.of("query", query)
            record(account, verb, subject, topology=named, detail=query.name, changes=changes)
        if topology is None:
            return
        if present is not None and present.topology.name != topology:
            actions.undeploy_query(account, query)
            actions.deploy_query(account, query, topology, present.version.number)
