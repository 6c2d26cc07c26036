"""The memory limit of a topology's state: set by operators, read at a job's start."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from backend.accounts.queries import refuse_non_operators
from backend.audit.changes import changed
from backend.deployments.noted import note
from backend.topologies.models import Topology
from optimizer.algebra.errors import InputError, Place

SMALLEST_BYTES = 64 << 20
"""256 KiB, the least that a partition works with, for each of 256: a job with more of them would need more,
and a job whose limit is too small does not start."""
LARGEST_BYTES = 64 << 40
"""64 TiB."""


def set_memory_limit(account: User, topology: Topology, limit_bytes: int | None) -> None:
    """Bound what of a topology's stores is in memory from its job's next start on.

    A job that runs goes on as it was launched; results are the same with any limit
    (docs/design/memory.md). One that ended for want of memory is launched again.

    Args:
        account: an operator.
        topology: running or not.
        limit_bytes: over all partitions of the job; None for no limit.

    Raises:
        Forbidden: the account is no operator.
        InputError: the limit is too small for a job to start with, or larger than any memory.
    """
    refuse_non_operators(account, f"limit the memory of {topology}")
    if limit_bytes is not None and not SMALLEST_BYTES <= limit_bytes <= LARGEST_BYTES:
        raise InputError(
            "bad-memory-limit",
            Place(f"topology {topology}", path="memory_limit_bytes"),
            f"{limit_bytes}",
            f"a number of bytes from {SMALLEST_BYTES} to {LARGEST_BYTES}, or null for no limit",
        )
    with transaction.atomic():
        field = "memory_limit_bytes"
        before = {field: Topology.objects.values_list(field, flat=True).get(pk=topology.pk)}
        others = Topology.objects.filter(pk=topology.pk).exclude(memory_limit_bytes=limit_bytes)
        if others.update(memory_limit_bytes=limit_bytes, halted=False):
            said = "none" if limit_bytes is None else f"{limit_bytes} bytes"
            note(account, "memory limit", topology, changed(before, {field: limit_bytes}), said)
