from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def forget_costs(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The kinds that the release before does not know."""
    apps.get_model("alerts", "Alert").objects.filter(kind__in=["cores", "budget"]).delete()


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0005_amounts"),
    ]

    operations = [
        migrations.AddField("alertrule", "cores", models.FloatField(null=True)),
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
                    ("cores", "cores"),
                    ("budget", "budget"),
                    ("test", "test"),
                ],
                max_length=9,
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, forget_costs),
    ]
