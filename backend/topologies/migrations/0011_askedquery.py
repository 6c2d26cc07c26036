"""What topologies were asked to answer is remembered, and of whom it is."""

import django.db.models.deletion
from django.apps.registry import Apps
from django.conf import settings
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def remember(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    """What is answered now, and what plans of an earlier release tell of."""
    asked, deployed, plan = (
        apps.get_model("topologies", name) for name in ("AskedQuery", "TopologyQuery", "Plan")
    )
    pairs = {
        *deployed.objects.values_list("topology", "query"),
        *plan.objects.exclude(versions=None).values_list("topology", "versions__query"),
    }
    asked.objects.bulk_create(
        asked(topology_id=topology, query_id=query) for topology, query in sorted(pairs)
    )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0004_team_private"),
        ("catalog", "0002_query_favourite_of_query_team"),
        ("topologies", "0010_savings"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="AskedQuery",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("name", models.CharField(blank=True, default="", max_length=63)),
                (
                    "owner",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                (
                    "query",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="asked",
                        to="catalog.query",
                    ),
                ),
                (
                    "team",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="+",
                        to="accounts.team",
                    ),
                ),
                (
                    "topology",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="asked",
                        to="topologies.topology",
                    ),
                ),
            ],
            options={
                "ordering": ("pk",),
                "constraints": [models.UniqueConstraint(fields=("topology", "query"), name="asked_once")],
            },
        ),
        migrations.RunPython(remember, migrations.RunPython.noop),
    ]
