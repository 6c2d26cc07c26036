"""`python -m tests.bench.pages.fill NAME RUN ACCOUNTS < GRAPHS`: a running topology and its watchers.

The graphs are its plans, one JSON document per line; the first one, NAME.1, runs. Prints a session for each
account, a line each; the first one is an operator's. A process of its own, because a test's process has
another database.
"""

from __future__ import annotations

import secrets
import sys

import django


def main() -> None:
    django.setup()
    from django.contrib.auth.models import User
    from django.test import Client

    from backend.accounts.actions import create_operator
    from backend.deployments.actions import create_topology
    from backend.topologies.models import Desired, Plan, Run, RunState, Topology

    name, run_id, accounts = sys.argv[1:]
    topology = create_topology(name)
    plans = [
        Plan.objects.create(
            topology=topology,
            plan_id=f"{name}.{number}",
            revision=number,
            graph=graph,
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
        for number, graph in enumerate(sys.stdin, 1)
    ]
    plan = plans[0]
    run = Run.objects.create(id=run_id, topology=topology, state=RunState.RUNNING, plan=plan)
    Topology.objects.filter(name=name).update(
        desired=Desired.RUNNING, plan=plan, active_plan=plan, current_run=run, planned_revision=1, revision=1
    )
    for number in range(int(accounts)):
        account = (
            User.objects.create_user(f"bench{number}")
            if number
            else create_operator("bench", secrets.token_urlsafe(16))
        )
        client = Client()
        client.force_login(account)
        sys.stdout.write(f"{client.cookies['sessionid'].value}\n")


if __name__ == "__main__":
    main()
