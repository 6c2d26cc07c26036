"""`manage.py create_demo`: the demo's account, streams, queries and topology."""

from __future__ import annotations

from argparse import ArgumentParser
from datetime import timedelta
from pathlib import Path

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from backend.accounts.actions import create_operator
from backend.catalog.actions import create_query
from backend.catalog.models import Query
from backend.deployments.actions import create_topology, deploy_query
from backend.errors import InputErrors, MillraceError
from backend.streams.actions import StreamSpec, create_stream
from backend.streams.models import SelectivityEstimate, Stream
from optimizer.algebra.errors import InputError
from optimizer.algebra.render import to_sql
from optimizer.logical.stream import MAX_AHEAD
from optimizer.sql import streams_read
from optimizer.workload import Workload, load_workload

DEMO = Path(settings.BASE_DIR) / "backend" / "demo"


class Command(BaseCommand):
    """Set up the demo, idempotently.

    What exists stays as people have changed it, what is missing is made.
    """

    help = "Create the demo's account, streams, queries and topology; what exists is left alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", default="demo")
        parser.add_argument("--topology", default="flights")
        parser.add_argument("--workload", type=Path, default=DEMO, help="a workload directory (backend/demo)")

    def handle(self, *_: object, account: str, topology: str, workload: Path, **__: object) -> None:
        try:
            definitions = load_workload(workload)
            owner = create_operator(account, settings.MILLRACE_DEMO_PASSWORD)
            streams = self._create_streams(owner, definitions)
            queries = self._create_queries(owner, definitions, topology)
        except (InputError, InputErrors, MillraceError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(
            f"demo: account {account}, {streams} new streams, {queries} new queries on {topology}"
        )

    def _create_streams(self, owner: User, definitions: Workload) -> int:
        created = 0
        for stream in definitions.catalog:
            if Stream.objects.filter(name=stream.name).exists():
                continue
            spec = StreamSpec(
                name=stream.name,
                columns=stream.columns,
                event_time=stream.event_time,
                lateness_ms=stream.lateness // timedelta(milliseconds=1),
                late=stream.late,
                parallelism=stream.parallelism,
                tuples_per_second=stream.tuples_per_second,
                max_ahead_ms=(MAX_AHEAD if stream.max_ahead is None else stream.max_ahead)
                // timedelta(milliseconds=1),
                kind=stream.kind,
                key=stream.key,
                deleted=stream.deleted,
            )
            create_stream(owner, spec)
            created += 1
        for estimate in definitions.selectivities:
            SelectivityEstimate.objects.get_or_create(
                predicate=to_sql(estimate.predicate), defaults={"value": estimate.value}
            )
        return created

    def _create_queries(self, owner: User, definitions: Workload, topology: str) -> int:
        """Views before the queries that read them, or these would have no meaning."""
        create_topology(topology)
        texts = dict(definitions.sql)
        created = 0

        def create(name: str) -> None:
            nonlocal created
            if Query.objects.filter(name=name).exists():
                return
            for read in streams_read(texts[name]):
                if read in texts:
                    create(read)
            record = create_query(owner, name, texts[name], _description(texts[name]))
            deploy_query(owner, record, topology)
            created += 1

        for name in texts:
            create(name)
        return created


def _description(sql: str) -> str:
    """The comment that heads a query's file."""
    lines = []
    for line in sql.splitlines():
        if not line.startswith("--"):
            break
        lines.append(line.removeprefix("--").strip())
    return " ".join(lines)
