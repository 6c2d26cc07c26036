from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def forget_amounts(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The kinds that the release before does not know."""
    apps.get_model("alerts", "Alert").objects.filter(kind__in=["letters", "latency", "state"]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0004_differing_queries"),
    ]

    operations = [
        *(
            migrations.AddField("alertrule", name, models.PositiveIntegerField(null=True))
            for name in ("letters_per_minute", "latency_ms", "state_mb")
        ),
        migrations.AlterField(
            model_name="alert",
            name="kind",
            field=models.CharField(
                choices=[
                    ("failed", "failed"),
                    ("lag", "lag"),
                    ("stuck", "stuck"),
                    ("suspended", "suspended"),
                    ("differs", "differs"),
                    ("letters", "letters"),
                    ("latency", "latency"),
                    ("state", "state"),
                    ("test", "test"),
                ],
                max_length=9,
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, forget_amounts),
    ]
