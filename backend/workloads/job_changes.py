"""What a directory would change of how topologies' jobs work."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from django.contrib.auth.models import User

from backend.applied.drift import drift_of_job
from backend.audit.changes import changed
from backend.deployments.job_settings import check_job
from backend.errors import Conflict, Forbidden
from backend.topologies.job_settings import HIDDEN, JobSettings
from backend.topologies.models import Topology
from backend.topologies.queries import topologies
from backend.topologies.sight import sight_of
from backend.workloads.differences import Difference
from backend.workloads.job_files import DeclaredJob


@dataclass(frozen=True, slots=True)
class JobChange:
    """Of one topology's job."""

    topology: str
    action: Literal["change", "keep"]
    wanted: JobSettings | None = None
    """As they are to be; None for one that stays, or may not be changed."""
    differences: tuple[Difference, ...] = ()
    """What may be a secret of an address is left out."""
    refused: str | None = None
    drift: tuple[str, ...] = ()


def job_change(account: User, one: DeclaredJob, coming: Collection[str]) -> JobChange:
    """Compare what a file says with what there is; nothing is written.

    Args:
        account: who would apply it.
        one: what the file says.
        coming: the topologies that the directory's queries go to, which may be new.
    """
    record = topologies(account).filter(name=one.topology).select_related("applied").first()
    if record is None and (one.topology not in coming or Topology.objects.filter(name=one.topology).exists()):
        refused = f"topologies/{one.topology}.yaml: there is no such topology, and no query here goes to it"
        return JobChange(one.topology, "change", refused=refused)
    if record is not None and not sight_of(account, record).is_whole:
        refused = (
            f"the job of {one.topology} may name queries of other teams, and is for those who read these"
        )
        return JobChange(one.topology, "change", refused=refused)
    present = JobSettings() if record is None else record.job_settings
    wanted = one.over(present)
    drift = () if record is None else drift_of_job(record)
    found = changed(present.document(), wanted.document(), hidden=HIDDEN)
    differences = tuple(Difference(name, before, after) for name, (before, after) in found.items())
    if not differences:
        return JobChange(one.topology, "keep", drift=drift)
    try:
        check_job(account, one.topology, wanted)
    except (Conflict, Forbidden) as refusal:
        return JobChange(one.topology, "change", None, differences, str(refusal), drift)
    return JobChange(one.topology, "change", wanted, differences, None, drift)
