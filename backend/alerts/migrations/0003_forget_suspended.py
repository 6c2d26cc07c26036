"""Forget alerts of suspended queries, on the way back only.

A migration of its own: PostgreSQL alters no table in a transaction that deleted rows which others refer to.
"""

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def forget_suspended(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Delete alerts of a kind that the release before does not know.

    Its name is too long for that release's column.
    """
    apps.get_model("alerts", "Alert").objects.filter(kind="suspended").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0002_suspended_queries"),
    ]

    operations = [
        migrations.RunPython(migrations.RunPython.noop, forget_suspended),
    ]
