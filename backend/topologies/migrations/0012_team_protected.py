"""A team that has something is not deleted."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_team_private"),
        ("topologies", "0011_askedquery"),
    ]

    operations = [
        migrations.AlterField(
            model_name="askedquery",
            name="team",
            field=models.ForeignKey(
                null=True, on_delete=django.db.models.deletion.PROTECT, related_name="+", to="accounts.team"
            ),
        ),
    ]
