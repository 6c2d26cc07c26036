from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("streams", "0005_stream_source"),)

    operations = (
        migrations.AddField(
            model_name="stream",
            name="kind",
            field=models.CharField(
                choices=[("stream", "stream"), ("table", "table")], default="stream", max_length=6
            ),
        ),
        migrations.AddField(
            model_name="stream", name="key", field=models.JSONField(blank=True, default=list)
        ),
        migrations.AddField(
            model_name="stream",
            name="deleted",
            field=models.CharField(blank=True, default=None, max_length=255, null=True),
        ),
    )
