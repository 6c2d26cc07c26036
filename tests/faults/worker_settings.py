"""The settings of a worker that kills itself at the point that MILLRACE_TEST_DIES_AT names.

`claimed`: it has said that it plans a revision; `created`: it has said that it launches a run, and is
about to; `launched`: it has, and is about to write down which process that is.
"""

import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created

from tests.api.runs.worker_settings import *  # noqa: F403

_POINT = os.environ.get("MILLRACE_TEST_DIES_AT", "")


def _die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def _watched(execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
    if _POINT == "launched" and sql.startswith('UPDATE "topologies_run" SET "pid"'):
        _die()
    done = execute(sql, params, many, context)
    # Not what the supervisor does about a revision that nobody plans: that one sets no number.
    if _POINT == "claimed" and sql.startswith('UPDATE "topologies_topology" SET "claimed_revision" = %s'):
        _die()
    return done


def _watch(connection: BaseDatabaseWrapper, **_: Any) -> None:
    connection.execute_wrappers.append(_watched)


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "subprocess.Popen" and "--checkpoint" in arguments[1]:
        _die()


if _POINT:
    connection_created.connect(_watch)
if _POINT == "created":
    sys.addaudithook(_audit)
