"""Kafka: each query's results go to a topic of the deployment's cluster.

The client library is loaded with the first sink: topologies without topics do without it.
"""

from __future__ import annotations

import argparse
import os

from jobs.sinks.connector import Sink, SinkConnector
from jobs.sinks.kafka.topics import Topics
from jobs.sources.kafka.cluster import required


class KafkaResults(SinkConnector):
    option = "--results-topic"

    def add_options(self, parser: argparse.ArgumentParser) -> None:
        environment = os.environ
        parser.add_argument(
            "--results-topic", metavar="PATTERN", default=environment.get("MILLRACE_KAFKA_RESULTS") or None,
            help="also publish results to topics of the deployment's Kafka cluster; {query} is the query's "
            "name (default: MILLRACE_KAFKA_RESULTS)",
        )  # fmt: skip
        parser.add_argument(
            "--results-format", choices=("json", "avro"),
            default=environment.get("MILLRACE_KAFKA_RESULTS_FORMAT") or "json",
            help="of values in topics (default: MILLRACE_KAFKA_RESULTS_FORMAT, or json)",
        )  # fmt: skip

    def open(self, given: argparse.Namespace, identity: str) -> Sink:
        cluster = required("--results-topic")
        topics = Topics(given.results_topic, given.results_format)
        from jobs.sinks.kafka.transactions import TopicSink

        return TopicSink(cluster, topics, identity)


SINK = KafkaResults()
