"""Entries of the audit trail move to the room that keeps all of it.

Who deployed a topology's first query, which they told, is kept with the topology. On the way back the entries
that concern a topology come back, as far as they fit.
"""

from __future__ import annotations

from typing import Any

from django.db import migrations

_CHUNK = 1000
_DEPLOYED = ("deploy", "undeploy", "suspend", "allow", "limit")
_LETTERS = ("redrive", "discard")


def _subject(entry: Any) -> tuple[str, str, str]:
    """Kind, name and key of what an entry is about, from its detail."""
    if entry.action in _DEPLOYED:
        # "windy v3", "windy v3: why", or "windy".
        return "query", entry.detail.partition(" ")[0], ""
    if entry.action in _LETTERS:
        # "2 dead letters of weather".
        return "stream", entry.detail.rpartition(" of ")[2], ""
    return "topology", entry.topology.name, str(entry.topology_id)


def forward(apps: Any, schema_editor: Any) -> None:
    topologies = apps.get_model("topologies", "Topology").objects
    moved = apps.get_model("audit", "AuditEntry")
    old = apps.get_model("topologies", "AuditEntry").objects
    rows: list[Any] = []
    made: dict[int, int | None] = {}
    for entry in old.select_related("topology", "account").order_by("pk").iterator(_CHUNK):
        if entry.action == "deploy":
            made.setdefault(entry.topology_id, entry.account_id)
        kind, name, key = _subject(entry)
        rows.append(
            moved(
                at=entry.at,
                account_id=entry.account_id,
                account_name="" if entry.account is None else entry.account.username,
                through="product" if entry.action == "suspend" else "unknown",
                kind=kind,
                name=name,
                key=key,
                topology=entry.topology.name,
                verb=entry.action,
                detail=entry.detail,
            )
        )
        if len(rows) == _CHUNK:
            moved.objects.bulk_create(rows)
            rows = []
    moved.objects.bulk_create(rows)
    for topology, account in made.items():
        topologies.filter(pk=topology).update(made_by_id=account)


def backward(apps: Any, schema_editor: Any) -> None:
    topologies = apps.get_model("topologies", "Topology").objects
    old = apps.get_model("topologies", "AuditEntry")
    keys = dict(topologies.values_list("name", "pk"))
    longest = old._meta.get_field("action").max_length, old._meta.get_field("detail").max_length
    moved = apps.get_model("audit", "AuditEntry").objects.filter(topology__in=list(keys))
    for entry in moved.order_by("pk").iterator(_CHUNK):
        back = old.objects.create(
            topology_id=keys[entry.topology],
            account_id=entry.account_id,
            action=entry.verb[: longest[0]],
            detail=entry.detail[: longest[1]],
        )
        # Written as of now whatever is said.
        old.objects.filter(pk=back.pk).update(at=entry.at)
    moved.delete()


class Migration(migrations.Migration):
    dependencies = [
        ("audit", "0001_entries"),
        ("topologies", "0013_topology_made_by"),
    ]

    operations = [migrations.RunPython(forward, backward)]
