"""Plans that took over by what was learnt tell what that was to save, and did."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("topologies", "0009_learnt")]

    operations = [
        migrations.AddField("plan", "before", models.CharField(blank=True, default="", max_length=100)),
        migrations.AddField("plan", "predicted_saving", models.FloatField(null=True)),
        migrations.AddField("plan", "actual_saving", models.FloatField(null=True)),
        migrations.AddField("plan", "saving_epochs", models.PositiveIntegerField(default=0)),
    ]
