from collections.abc import Iterable
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def _topologies(apps: Apps) -> Iterable[Any]:
    """All of them, as they are at this point of the history."""
    found: Iterable[Any] = apps.get_model("topologies", "Topology").objects.all()
    return found


def keep(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    for topology in _topologies(apps):
        topology.planner = {"method": topology.method}
        topology.job = {"trigger_ms": topology.trigger_ms}
        topology.save(update_fields=["planner", "job"])


def give_back(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    for topology in _topologies(apps):
        topology.method = topology.planner.get("method", "ilp")
        topology.trigger_ms = topology.job.get("trigger_ms", 500)
        topology.save(update_fields=["method", "trigger_ms"])


class Migration(migrations.Migration):
    dependencies = [
        ("topologies", "0007_halted"),
    ]

    operations = [
        migrations.AddField("topology", "planner", models.JSONField(default=dict)),
        migrations.AddField("topology", "job", models.JSONField(default=dict)),
        migrations.AddField("run", "job", models.JSONField(default=dict)),
        # On the way back the columns are there again before they are filled.
        migrations.AlterField("topology", "method", models.CharField(max_length=20, default="ilp")),
        migrations.AlterField("topology", "trigger_ms", models.PositiveIntegerField(default=500)),
        migrations.RunPython(keep, give_back),
        migrations.RemoveField("topology", "method"),
        migrations.RemoveField("topology", "trigger_ms"),
    ]
