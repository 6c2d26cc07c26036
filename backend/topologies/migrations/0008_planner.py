from collections.abc import Iterable
from typing import Any

from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor


def _topologies(apps: Apps) -> Iterable[Any]:
    """All of them, as they are at this point of the history."""
    found: Iterable[Any] = apps.get_model("topologies", "Topology").objects.all()
    return found


def keep_methods(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    for topology in _topologies(apps):
        topology.planner = {"method": topology.method}
        topology.save(update_fields=["planner"])


def give_methods_back(apps: Apps, editor: BaseDatabaseSchemaEditor) -> None:
    for topology in _topologies(apps):
        topology.method = topology.planner.get("method", "ilp")
        topology.save(update_fields=["method"])


class Migration(migrations.Migration):
    dependencies = [
        ("topologies", "0007_halted"),
    ]

    operations = [
        migrations.AddField("topology", "planner", models.JSONField(default=dict)),
        # On the way back the column is there again before it is filled.
        migrations.AlterField("topology", "method", models.CharField(max_length=20, default="ilp")),
        migrations.RunPython(keep_methods, give_methods_back),
        migrations.RemoveField("topology", "method"),
    ]
