"""A program for test_quotas.py: everybody asks at once, on the database that DATABASE_URL names.

Prints what there is afterwards, as JSON: of every resource, a team's service accounts, how often one code of
a second factor counted, and the jobs that were launched.
"""

from __future__ import annotations

import json
import sys
import threading
from collections.abc import Callable
from functools import partial

import django

django.setup()

from django.conf import settings  # noqa: E402
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.db import connection  # noqa: E402
from django.utils import timezone  # noqa: E402

from backend.accounts.models import Quota, Team  # noqa: E402
from backend.accounts.quotas import uses  # noqa: E402
from backend.alerts.actions import RuleSpec, create_rule  # noqa: E402
from backend.catalog.actions import add_version, create_query  # noqa: E402
from backend.catalog.models import Query  # noqa: E402
from backend.deployments.actions import deploy_query  # noqa: E402
from backend.errors import Conflict  # noqa: E402
from backend.planning import revisions  # noqa: E402
from backend.runs import process, supervision  # noqa: E402
from backend.second_factor.actions import activate  # noqa: E402
from backend.second_factor.codes import spend  # noqa: E402
from backend.service_accounts.actions import create_service_account  # noqa: E402
from backend.streams.actions import StreamSpec, create_stream  # noqa: E402
from backend.tokens.actions import create_token  # noqa: E402
from backend.topologies.models import Run, Topology  # noqa: E402
from optimizer.algebra.types import ColumnType  # noqa: E402

AT_ONCE = 6
SQL = "SELECT x.a FROM r [RANGE 1 HOUR] AS x, r [RANGE {} HOUR] AS y WHERE x.a = y.a"
COLUMNS = (("at", ColumnType.TIMESTAMP), ("a", ColumnType.INT))


def at_once(act: Callable[[int], object]) -> None:
    """The same by several threads that begin together; a refusal is one of the outcomes."""
    together = threading.Barrier(AT_ONCE)
    faults: list[BaseException] = []

    def one(number: int) -> None:
        together.wait()
        try:
            act(number)
        except Conflict as refused:
            if not refused.code.startswith("too-many-") and refused.code != "version-written":
                faults.append(refused)
        except BaseException as error:
            faults.append(error)
        finally:
            connection.close()

    threads = [threading.Thread(target=one, args=(number,)) for number in range(AT_ONCE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if faults:
        raise faults[0]


def main() -> None:
    call_command("migrate", verbosity=0)
    # Quotas are raced for here, not places among those who wait for an answer.
    settings.MILLRACE_WORK_PER_ACCOUNT = AT_ONCE
    settings.MILLRACE_JOB_COMMAND = [sys.executable, "-c", "import time; time.sleep(120)"]
    ann = User.objects.create_user("ann", password="long-enough-1")
    root = User.objects.create_superuser("root", password="long-enough-1")
    create_stream(root, StreamSpec("r", COLUMNS, "at"))
    limits = dict.fromkeys(("topologies", "streams", "queries", "versions", "alerts", "tokens"), 2)
    quota = Quota.objects.create(account=ann, **limits)

    at_once(lambda n: create_stream(ann, StreamSpec(f"s{n}", COLUMNS, "at")))
    at_once(lambda n: create_query(ann, f"q{n}", SQL.format(n + 1)))
    at_once(lambda n: create_token(ann, f"t{n}"))
    rule = partial(RuleSpec, topology=None, channel="webhook", target="https://example.org/", on_failed=True)
    rule = partial(rule, lag_seconds=None, stuck_seconds=None, enabled=True, team=None)
    rule = partial(rule, letters_per_minute=None, latency_ms=None, state_mb=None, cores=None)
    at_once(lambda n: create_rule(ann, rule(name=f"a{n}")))
    Quota.objects.filter(pk=quota.pk).update(queries=20)
    versioned = Query.objects.filter(name__startswith="q").first()
    assert versioned is not None
    at_once(lambda n: add_version(ann, Query.objects.get(pk=versioned.pk), SQL.format(n + 20)))
    made = {use.resource.value: use.used for use in uses(ann)} | {"versions": versioned.versions.count()}
    settings.MILLRACE_SERVICE_ACCOUNTS = 2.0
    team = Team.objects.create(name="airside")
    at_once(lambda n: create_service_account(root, team, f"loader{n}"))
    made["service accounts"] = team.service_accounts.count()
    [code, *_] = activate(ann, "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", 0)[1]
    counted: list[object] = []
    at_once(lambda n: counted.append(spend(ann, code)))
    made["codes"] = AT_ONCE - counted.count(None)
    deployed = [create_query(ann, f"d{n}", SQL.format(n + 1)) for n in range(AT_ONCE)]
    at_once(lambda n: deploy_query(ann, deployed[n], f"mine{n}"))
    made |= {"topologies": {use.resource.value: use.used for use in uses(ann)}["topologies"]}

    # Everybody launches at once, all of an operator's, two places.
    settings.MILLRACE_MAX_JOBS = 2.0
    Topology.objects.update(desired="stopped")
    for n in range(AT_ONCE):
        deploy_query(root, create_query(root, f"j{n}", SQL.format(n + 1)), f"job{n}")
        assert revisions.plan_newest(Topology.objects.get(name=f"job{n}").pk)
    launched = [Topology.objects.get(name=f"job{n}") for n in range(AT_ONCE)]
    try:
        at_once(lambda n: supervision.reconcile(launched[n].pk, timezone.now()))
        at_once(lambda n: supervision.reconcile(launched[n].pk, timezone.now()))
        made["jobs"] = Run.objects.count()
        made["processes"] = Run.objects.exclude(pid=None).count()
    finally:
        for run in Run.objects.select_related("topology"):
            process.end(run)
    print(json.dumps(made))


if __name__ == "__main__":
    main()
