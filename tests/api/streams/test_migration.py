"""Topics of streams become settings of a connector, and come back."""

from __future__ import annotations

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from backend.streams.models import Stream, StreamSource
from backend.streams.queries import source_of
from jobs.sources.kafka.topic import KafkaTopic

BEFORE = [("streams", "0004_stream_max_ahead")]
TOPIC = KafkaTopic("orders", "avro", '{"type": "record"}', 3, record_time=True, most_per_batch=9)


@pytest.mark.django_db(transaction=True)
def test_topics_survive_forward_and_back() -> None:
    executor = MigrationExecutor(connection)
    # Of every application: what needs streams goes back with them.
    newest = executor.loader.graph.leaf_nodes()
    executor.migrate(BEFORE)
    apps = executor.loader.project_state(BEFORE).apps
    owner = apps.get_model("auth", "User").objects.create(username="ann")
    stream = apps.get_model("streams", "Stream").objects.create(name="r", event_time="at", owner_id=owner.pk)
    topics = apps.get_model("streams", "StreamTopic").objects
    known = {name: value for name, value in TOPIC.document().items() if name != "registry"}
    topics.create(stream_id=stream.pk, **known)

    MigrationExecutor(connection).migrate(newest)
    assert source_of(Stream.objects.get(name="r")) == TOPIC

    # What the page keeps has every setting.
    StreamSource.objects.update(settings=TOPIC.document())
    MigrationExecutor(connection).migrate(BEFORE)
    (topic,) = topics.values()
    assert {name: topic[name] for name in known} == known
    MigrationExecutor(connection).migrate(newest)
