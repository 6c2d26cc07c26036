from __future__ import annotations

import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = (("streams", "0003_stream_topic"),)

    operations = (
        migrations.AddField(
            model_name="stream",
            name="max_ahead_ms",
            field=models.BigIntegerField(
                default=86_400_000, validators=[django.core.validators.MinValueValidator(0)]
            ),
        ),
    )
