import django.db.models.deletion
from django.apps.registry import Apps
from django.db import migrations, models
from django.db.backends.base.schema import BaseDatabaseSchemaEditor

SETTINGS = (
    *("topic", "format", "schema", "schema_id", "key", "record_time", "start", "lost"),
    "most_per_batch",
)


def from_topics(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """A topic becomes the settings of the connector `kafka`."""
    sources = apps.get_model("streams", "StreamSource").objects
    for topic in apps.get_model("streams", "StreamTopic").objects.all():  # type: ignore[misc]  # gone now
        settings = {name: getattr(topic, name) for name in SETTINGS}
        sources.create(stream_id=topic.stream_id, connector="kafka", settings=settings)


def to_topics(apps: Apps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    topics = apps.get_model("streams", "StreamTopic").objects  # type: ignore[misc]  # gone now
    for source in apps.get_model("streams", "StreamSource").objects.filter(connector="kafka"):
        # Later releases have more settings.
        settings = {name: source.settings[name] for name in SETTINGS if name in source.settings}
        topics.create(stream_id=source.stream_id, **settings)


class Migration(migrations.Migration):
    dependencies = [
        ("streams", "0004_stream_max_ahead"),
    ]

    operations = [
        migrations.CreateModel(
            name="StreamSource",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                ("connector", models.CharField(max_length=63)),
                ("settings", models.JSONField()),
                (
                    "stream",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="source",
                        to="streams.stream",
                    ),
                ),
            ],
        ),
        migrations.RunPython(from_topics, to_topics),
        migrations.DeleteModel(name="StreamTopic"),
    ]
