"""Job settings of a topology: an operator sets them, the next start has them."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_non_operators
from backend.alerts import webhooks
from backend.audit.changes import changed
from backend.deployments.noted import note
from backend.errors import Conflict
from backend.topologies.job_settings import HIDDEN, SERVERS, JobSettings
from backend.topologies.models import Topology
from jobs.protocol.webhooks import NotAllowed


def set_job(account: User, topology: Topology, wanted: JobSettings) -> None:
    """Launch the topology's job with other settings from its next start on.

    Results stay the same, apart from tuples that are late: a watermark passes a silent stream sooner with a
    smaller idle timeout.

    Args:
        account: an operator.
        topology: running or not.
        wanted: all settings; those with their default are not kept, so that they follow later releases.

    Raises:
        Forbidden: the account is no operator.
        Conflict: results are to go to servers that this deployment does not name, or may not post to.
    """
    check_job(account, topology.name, wanted)
    changes = changed(topology.job_settings.document(), wanted.document(), hidden=HIDDEN)
    if changes:
        with transaction.atomic():
            Topology.objects.filter(pk=topology.pk).update(job=wanted.chosen())
            said = ", ".join(f"{name}: {after}" for name, (_, after) in changes.items())
            note(account, "job settings", topology, changes, said)


def check_job(account: User, topology: str, wanted: JobSettings) -> None:
    """Raises as `set_job` would; the topology need not be there yet."""
    refuse_non_operators(account, f"set how the job of {topology} works")
    document = wanted.document()
    for setting, server in SERVERS.items():
        if document[setting] and server not in settings.MILLRACE_RESULT_SERVERS:
            detail = f"{setting}: this deployment is not set up for it; set {server} (docs/guide/sinks.md)"
            raise Conflict("no-server", detail)
    if wanted.results_webhook:
        try:
            webhooks.check(wanted.results_webhook)
        except NotAllowed as error:
            raise Conflict("not-allowed", f"results_webhook: {error}") from error
