"""What Django's admin site logged before it went is in the audit trail."""

from __future__ import annotations

from datetime import UTC, datetime
from importlib import import_module
from types import SimpleNamespace

import pytest
from django.apps import apps
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import connection
from django.db.migrations.recorder import MigrationRecorder

from backend.audit.actions import Subject, record
from backend.audit.models import AuditEntry
from backend.audit.origin import Through, coming

MIGRATION = import_module("backend.accounts.migrations.0006_without_admin_site")
TABLE = """
CREATE TABLE django_admin_log (
  id INTEGER PRIMARY KEY, action_time TIMESTAMP NOT NULL, object_id TEXT, object_repr VARCHAR(200),
  action_flag SMALLINT NOT NULL, change_message TEXT NOT NULL, content_type_id INTEGER, user_id INTEGER
)
"""


@pytest.mark.django_db
def test_what_the_admin_site_logged_is_in_the_trail(owner: User) -> None:
    kind = ContentType.objects.get(app_label="accounts", model="team").pk
    with coming(Through.ADMIN, account=owner):
        record(owner, "change", Subject("team", "airside", 7))
    AuditEntry.objects.filter(name="airside").update(at=datetime(2026, 11, 20, tzinfo=UTC))
    rows = [
        (1, "2026-10-01 12:00:00.5", "7", "airside", 1, kind),
        (2, "2026-10-02 12:00:00", "8", "night", 3, kind),
        (3, "2026-10-03 12:00:00", None, "gone", 2, None),
        (4, "2026-11-20 00:00:00", "7", "airside", 2, kind),
    ]
    with connection.cursor() as cursor:
        cursor.execute(TABLE)
        for number, at, key, thing, flag, of in rows:
            cursor.execute(
                "INSERT INTO django_admin_log VALUES (%s, %s, %s, %s, %s, '', %s, %s)",
                [number, at, key, thing, flag, of, owner.pk],
            )
    MigrationRecorder(connection).record_applied("admin", "0001_initial")

    def execute(sql: str) -> None:
        with connection.cursor() as cursor:
            cursor.execute(sql)

    MIGRATION.move(apps, SimpleNamespace(connection=connection, execute=execute))
    found = AuditEntry.objects.filter(through="admin").order_by("pk")
    assert [(one.verb, one.kind, one.name, one.key, one.account_name) for one in found] == [
        ("create", "team", "airside", "7", "ann"),
        ("delete", "team", "night", "8", "ann"),
        ("change", "", "gone", "", "ann"),
        ("change", "team", "airside", "7", "ann"),
    ], "what was written to both is told once"
    assert found[0].at == datetime(2026, 10, 1, 12, 0, 0, 500000, tzinfo=UTC)
    assert "django_admin_log" not in connection.introspection.table_names()
    assert ("admin", "0001_initial") not in MigrationRecorder(connection).applied_migrations()
    MIGRATION.move(apps, SimpleNamespace(connection=connection, execute=execute))
    assert found.count() == 4
