from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("catalog", "0002_query_favourite_of_query_team")]

    operations = [
        migrations.AddField(model_name="query", name="chart", field=models.TextField(blank=True, default="")),
    ]
