from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("streams", "0008_team_protected"),
    ]

    operations = [
        migrations.AddField(
            model_name="streamsource",
            name="then",
            field=models.JSONField(default=dict),
        ),
    ]
