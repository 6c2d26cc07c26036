from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("topologies", "0001_initial")]

    operations = [
        migrations.AddField(
            model_name="plan",
            name="cause",
            field=models.CharField(default="deployed", max_length=255),
        ),
        migrations.AddField(
            model_name="plan",
            name="known",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="topology",
            name="evaluated_epoch",
            field=models.CharField(blank=True, default="", max_length=64),
        ),
        migrations.AddField(
            model_name="topology",
            name="known",
            field=models.TextField(blank=True, default=""),
        ),
    ]
