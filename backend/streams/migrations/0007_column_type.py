from __future__ import annotations

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("streams", "0006_stream_table"),)

    operations = (
        # Decimals have digits in their names, so that no list has them all.
        migrations.AlterField(model_name="streamcolumn", name="type", field=models.CharField(max_length=16)),
    )
