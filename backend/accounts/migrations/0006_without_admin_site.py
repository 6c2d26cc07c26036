"""Django's admin site is gone; its log goes into the audit trail."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from django.conf import settings
from django.db import migrations
from django.db.migrations.recorder import MigrationRecorder

_TABLE = "django_admin_log"
_VERBS = {1: "create", 2: "change", 3: "delete"}
_READ = f"""
  SELECT action_time, user_id, username, model, object_repr, object_id, action_flag
  FROM {_TABLE} AS log JOIN auth_user AS account ON account.id = log.user_id
  LEFT JOIN django_content_type AS kind ON kind.id = log.content_type_id ORDER BY log.id
"""


def move(apps: Any, schema_editor: Any) -> None:
    """Keep what was logged, and drop the table.

    The table would keep accounts from being deleted.

    Since there is an audit trail the admin site has written to both.
    """
    connection = schema_editor.connection
    if _TABLE not in connection.introspection.table_names():
        return
    AuditEntry = apps.get_model("audit", "AuditEntry")
    both_since = (
        AuditEntry.objects.filter(through="admin").order_by("at").values_list("at", flat=True).first()
    )
    with connection.cursor() as cursor:
        cursor.execute(_READ)
        rows = cursor.fetchall()
    logged = [
        AuditEntry(
            at=_moment(at),
            account_id=account,
            account_name=name,
            through="admin",
            kind=(kind or "")[:63],
            name=thing[:255],
            key=(key or "")[:63],
            verb=_VERBS.get(flag, "change"),
        )
        for at, account, name, kind, thing, key, flag in rows
    ]
    missing = [entry for entry in logged if both_since is None or entry.at < both_since]
    if missing:
        # The trail is read in the order of its keys: all get new ones, in the order of time.
        there = list(AuditEntry.objects.order_by("pk"))
        AuditEntry.objects.all().delete()
        for entry in there:
            entry.pk = None
        in_time = sorted([*missing, *there], key=lambda entry: entry.at)
        AuditEntry.objects.bulk_create(in_time, batch_size=1000)
    schema_editor.execute(f"DROP TABLE {_TABLE}")
    # A release that has the site again makes its table again.
    MigrationRecorder(connection).migration_qs.filter(app="admin").delete()


def _moment(told: str | datetime) -> datetime:
    """As a database says it: SQLite as text, without a zone."""
    at = datetime.fromisoformat(told) if isinstance(told, str) else told
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0005_service_account"),
        ("audit", "0001_entries"),
        ("contenttypes", "0002_remove_content_type_name"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [migrations.RunPython(move, migrations.RunPython.noop)]
