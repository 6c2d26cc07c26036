from __future__ import annotations

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("topologies", "0014_audit_moves"),
    ]

    operations = [migrations.DeleteModel(name="AuditEntry")]
