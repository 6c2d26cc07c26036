"""What the environment says about a run, checked before anything starts."""

from __future__ import annotations

import fcntl
import os
import socket
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import psutil

from backend.privacy import keep_private
from backend.run.console import say

_ROOT = Path(__file__).resolve().parents[2]
_ENDED_WITHIN_SECONDS = 120.0
"""What an earlier run left is ended in this time, also on a busy machine."""
_LOOK_SECONDS = 0.2


class Unusable(ValueError):
    """A setting, a port or a folder that cannot be used; the text says what to do."""


@dataclass(frozen=True, slots=True)
class Setting:
    host: str
    port: int
    home: Path
    redis_url: str | None
    """None: start an embedded Redis."""
    demo: bool
    lock: IO[str]
    """Held as long as the product runs: two on one folder would destroy each other's state."""

    @staticmethod
    def from_environment() -> Setting:
        """Reads and checks the environment. Raises `Unusable` with one line."""
        host = os.environ.get("MILLRACE_BIND", "127.0.0.1")
        port = _port(os.environ.get("PORT") or "8000")
        demo = os.environ.get("MILLRACE_DEMO", "1")
        if demo not in ("0", "1"):
            raise Unusable(f"MILLRACE_DEMO: found {demo}, expected 0 or 1")
        home = Path(os.environ.get("MILLRACE_HOME") or _ROOT / ".millrace").resolve()
        # First the lock: an earlier run that is still being ended has the port, too.
        lock = _locked(home)
        _must_be_free(host, port)
        return Setting(host, port, home, os.environ.get("REDIS_URL") or None, demo == "1", lock)


def free_port() -> int:
    """A port of this machine that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _port(text: str) -> int:
    if not text.isdigit() or not 1 <= int(text) <= 65535:
        raise Unusable(f"PORT: found {text}, expected a number from 1 to 65535")
    return int(text)


def _must_be_free(host: str, port: int) -> None:
    with socket.socket(socket.AF_INET6 if ":" in host else socket.AF_INET) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise Unusable(
                f"port {port} of {host} cannot be used ({error.strerror}); end what listens there "
                f"or choose another: `make run PORT={port + 1}`"
            ) from None


def _locked(home: Path) -> IO[str]:
    try:
        keep_private(home)
        lock = (home / "lock").open("a+")
    except OSError as error:
        raise Unusable(f"MILLRACE_HOME: cannot write to {home} ({error.strerror})") from None
    wait_until = time.monotonic() + _ENDED_WITHIN_SECONDS
    told = False
    while not _took(lock):
        lock.seek(0)
        owner = lock.read().strip()
        # Its supervisor is gone, and the guard that ends the rest holds the lock until that is done.
        is_ending = owner.isdigit() and not _lives(int(owner))
        if not is_ending or time.monotonic() > wait_until:
            raise Unusable(
                f"Millrace already runs on {home} (process {owner or 'unknown'}); stop it, "
                "or set MILLRACE_HOME to another folder"
            )
        if not told:
            say("cleanup", f"waiting until all that process {owner} left behind has ended")
            told = True
        time.sleep(_LOOK_SECONDS)
    lock.truncate(0)
    lock.write(f"{os.getpid()}\n")
    lock.flush()
    return lock


def _lives(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _took(lock: IO[str]) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
