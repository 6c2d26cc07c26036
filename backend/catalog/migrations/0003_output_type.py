from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("catalog", "0002_query_favourite_of_query_team"),)

    operations = (
        migrations.AlterField(model_name="versionoutput", name="type", field=models.CharField(max_length=16)),
    )
