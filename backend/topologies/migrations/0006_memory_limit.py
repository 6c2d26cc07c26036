from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("topologies", "0005_suspension"),
    ]

    operations = [
        migrations.AddField(
            model_name="topology",
            name="memory_limit_bytes",
            field=models.PositiveBigIntegerField(null=True),
        ),
        migrations.AddField(
            model_name="run",
            name="memory_limit_bytes",
            field=models.PositiveBigIntegerField(null=True),
        ),
    ]
