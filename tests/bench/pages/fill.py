"""`python -m tests.bench.pages.fill NAME RUN ACCOUNTS < GRAPH`: a running topology and its watchers.

Prints a session for each account, a line each. A process of its own, because a test's process has
another database.
"""

from __future__ import annotations

import sys

import django


def main() -> None:
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client

    from backend.topologies.actions import create_topology
    from backend.topologies.models import Desired, Plan, Run, RunState, Topology

    name, run_id, accounts = sys.argv[1:]
    topology = create_topology(name)
    plan = Plan.objects.create(
        topology=topology,
        plan_id=f"{name}.1",
        revision=1,
        graph=sys.stdin.read(),
        text="made for the pages",
        method="greedy",
        status="feasible",
        probe=1.0,
        storage=1.0,
        latency=0.0,
        individual_cost=2.0,
        build_seconds=0.0,
        solve_seconds=0.0,
    )
    run = Run.objects.create(id=run_id, topology=topology, state=RunState.RUNNING, plan=plan)
    Topology.objects.filter(name=name).update(
        desired=Desired.RUNNING, plan=plan, active_plan=plan, current_run=run, planned_revision=1, revision=1
    )
    for number in range(int(accounts)):
        client = Client()
        client.force_login(User.objects.create_user(f"bench{number or ''}"))
        sys.stdout.write(f"{client.cookies['sessionid'].value}\n")


if __name__ == "__main__":
    main()
