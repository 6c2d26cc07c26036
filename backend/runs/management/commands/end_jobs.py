"""End every streaming job of this machine, at shutdown (`manage.py end_jobs`)."""

from __future__ import annotations

from django.core.management.base import BaseCommand

from backend.runs import process
from backend.topologies.models import ENDED, Run


class Command(BaseCommand):
    """End this machine's jobs; the product's next start launches them again.

    Worker and beat must have stopped, or they would launch them at once.
    """

    help = "End every streaming job of this machine; the next start of the product launches them again."

    def handle(self, *_: object, **__: object) -> None:
        ended = [
            run.pk
            for run in Run.objects.select_related("topology").exclude(state__in=ENDED)
            if process.end(run)
        ]
        self.stdout.write(f"{len(ended)} streaming job{'' if len(ended) == 1 else 's'} ended")
