"""How many jobs run at once, and whose turn it is.

Each job takes a gigabyte and more before its first tuple. If there is one too many the kernel ends one, and
it need not be the one that was launched last: so a job that has no place waits for one.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db.models import F, Q

from backend.accounts.queries import operators
from backend.catalog.models import QueryVersion
from backend.topologies.models import ENDED, Desired, Topology


@dataclass(frozen=True, slots=True)
class LaunchQueue:
    total: int
    taken: int
    queue: tuple[int, ...]
    """Topologies that wait for a launch, in the order of their turns."""
    next: frozenset[int]
    """Those of them that have a place."""

    def reason(self, topology_id: int) -> str | None:
        """Why the topology's job is not launched; None if it does not wait for a place."""
        if topology_id not in self.queue or topology_id in self.next:
            return None
        kept = "" if self.taken >= self.total else ", and the last place is kept for an account without a job"
        ahead = self.queue.index(topology_id)
        before = f"; {ahead} before it" if ahead else ""
        return f"waiting for a place: {self.taken} of {self.total} jobs run{kept}{before}"


def look(now: datetime) -> LaunchQueue:
    """The places now, and who is next.

    Whose makers have the fewest jobs goes first, then who has waited longest. The last place is nobody's
    second one, so that no account holds all; an operator's may be.
    """
    total = int(settings.MILLRACE_MAX_JOBS)
    running, waiting = set(_running()), dict(_waiting(now))
    makers = _makers(running | waiting.keys())
    jobs = Counter(account for topology in running for account in makers[topology])
    trusted = set(operators().values_list("pk", flat=True)) if waiting else set()
    free = total - len(running)
    queue: list[int] = []
    chosen = set()
    while waiting:
        share, _, topology = min(
            (min((jobs[one] for one in makers[pk]), default=0), since, pk) for pk, since in waiting.items()
        )
        del waiting[topology]
        queue.append(topology)
        is_second = share > 0 and total > 1 and not makers[topology] & trusted
        if free >= (2 if is_second else 1):
            chosen.add(topology)
            free -= 1
            jobs.update(makers[topology])
    return LaunchQueue(total, len(running), tuple(queue), frozenset(chosen))


def take(topology: Topology, now: datetime) -> bool:
    """True if the topology's job may be launched, to be noted in the same transaction.

    One worker at a time is at this from here to the transaction's end, so that no two take the last place.
    """
    # SQLite has one writer at a time anyway. Every launch locks this row first, and nothing locks it after
    # another one.
    list(Topology.objects.select_for_update(no_key=True).order_by("pk").values_list("pk")[:1])
    return topology.pk in look(now).next


def _running() -> list[int]:
    taken = Topology.objects.exclude(current_run=None).exclude(current_run__state__in=ENDED)
    return list(taken.values_list("pk", flat=True))


def _waiting(now: datetime) -> list[tuple[int, datetime]]:
    """Topologies that could be launched, and since when they want to be."""
    wanted = Topology.objects.filter(desired=Desired.RUNNING, halted=False).exclude(plan=None)
    idle = wanted.filter(Q(current_run=None) | Q(current_run__state__in=ENDED))
    due = idle.filter(Q(restart_at=None) | Q(restart_at__lte=now))
    # Neither while a newer revision is being planned (`supervision`).
    planned = due.filter(Q(planned_revision__gte=F("revision")) | Q(failed_revision__gte=F("revision")))
    return [(one.pk, one.revised_at or one.created_at) for one in planned]


def _makers(topologies: set[int]) -> dict[int, set[int]]:
    """The accounts that made the queries of each topology."""
    made = QueryVersion.objects.filter(number=1, query__deployment__topology__in=topologies)
    found: dict[int, set[int]] = defaultdict(set)
    for topology, account in made.values_list("query__deployment__topology_id", "created_by_id"):
        found[topology].add(account)
    return found
