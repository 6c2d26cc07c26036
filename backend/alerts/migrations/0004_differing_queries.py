from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps


def forget_differing(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """The kind that the release before does not know."""
    apps.get_model("alerts", "Alert").objects.filter(kind="differs").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("alerts", "0003_forget_suspended"),
    ]

    operations = [
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
                    ("test", "test"),
                ],
                max_length=9,
            ),
        ),
        migrations.RunPython(migrations.RunPython.noop, forget_differing),
    ]
