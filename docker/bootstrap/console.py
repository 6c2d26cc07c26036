"""What the set-up says, and how it runs other programs."""

import os
import re
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


PAUSES_S = (5, 15, 30)
"""Before each further try."""
_PASSING = re.compile(
    r"Could not get lock|Unable to (acquire|lock)|Temporary failure|[Tt]imed? ?out|ETIMEDOUT|EAI_AGAIN"
    r"|ECONNRESET|ECONNREFUSED|ENETUNREACH|unreachable|[Cc]onnection (reset|refused|broken|aborted|failed)"
    r"|Hash Sum mismatch|IncompleteRead|\b50[0234]\b"
)
"""What a lock that somebody else holds, and a network that is slow or away for a moment, are told by."""


class CannotInstall(Exception):
    """Something is missing that cannot be installed from here; the text says what to do."""


def say(part: str, what: str) -> None:
    sys.stdout.write(f"{part:<10} {what}\n")
    sys.stdout.flush()


def run(
    command: Sequence[str | os.PathLike[str]],
    *,
    environment: Mapping[str, str] | None = None,
    directory: Path = ROOT,
) -> str | None:
    """Runs a command quietly; None when it succeeded, else the end of what it printed.

    Set-up is silent when it works. When it does not, the last lines usually name the cause.
    """
    try:
        done = subprocess.run(
            [os.fspath(part) for part in command],
            cwd=directory,
            env={**os.environ, **(environment or {})},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
    except OSError as error:
        return str(error)
    if done.returncode == 0:
        return None
    lines = done.stdout.decode(errors="replace").strip().splitlines()
    return "\n".join(lines[-15:]) or f"exit code {done.returncode}"


def run_patiently(
    part: str,
    command: Sequence[str | os.PathLike[str]],
    *,
    environment: Mapping[str, str] | None = None,
) -> str | None:
    """Like `run`, but what fails for a reason that passes is tried again, and whoever waits is told why."""
    for pause_s in PAUSES_S:
        failed = run(command, environment=environment)
        passing = None if failed is None else _PASSING.search(failed)
        if passing is None:
            return failed
        line = next(line for line in failed.splitlines() if passing.group() in line).strip()
        say(part, f"{line[:200]}; trying again in {pause_s} s")
        time.sleep(pause_s)
    return run(command, environment=environment)


def apt_install(*names: str) -> str | None:
    """Installs Debian packages; None when done, else why not."""
    if not Path("/usr/bin/apt-get").exists():
        return "this machine has no apt-get"
    if os.geteuid() != 0:
        return "apt-get needs root"
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    # Somebody else's apt may run for minutes, as after the start of a machine.
    apt = ["apt-get", "-q", "-o", "DPkg::Lock::Timeout=300", "-o", "Acquire::Retries=5"]
    return run_patiently("apt", [*apt, "update"], environment=environment) or run_patiently(
        "apt", [*apt, "install", "-y", "--no-install-recommends", *names], environment=environment
    )
