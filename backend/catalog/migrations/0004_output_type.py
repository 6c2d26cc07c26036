from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("catalog", "0003_query_chart"),)

    operations = (
        migrations.AlterField(model_name="versionoutput", name="type", field=models.CharField(max_length=16)),
    )
