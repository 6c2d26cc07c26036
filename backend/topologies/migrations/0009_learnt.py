"""What a topology has learnt is called so."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("topologies", "0008_settings")]

    operations = [
        migrations.RenameField("topology", "known", "learnt"),
        migrations.RenameField("plan", "known", "learnt"),
    ]
