from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("topologies", "0006_memory_limit"),
    ]

    operations = [
        migrations.AddField(
            model_name="topology",
            name="halted",
            field=models.BooleanField(default=False),
        ),
    ]
