"""A team that has something is not deleted."""

from __future__ import annotations

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_team_private"),
        ("catalog", "0004_output_type"),
    ]

    operations = [
        migrations.AlterField(
            model_name="query",
            name="team",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="queries",
                to="accounts.team",
            ),
        ),
    ]
