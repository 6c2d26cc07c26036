"""What the set-up says, and how it runs other programs."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


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


def apt_install(*names: str) -> str | None:
    """Installs Debian packages; None when done, else why not."""
    if not Path("/usr/bin/apt-get").exists():
        return "this machine has no apt-get"
    if os.geteuid() != 0:
        return "apt-get needs root"
    environment = {"DEBIAN_FRONTEND": "noninteractive"}
    return run(["apt-get", "update", "-q"], environment=environment) or run(
        ["apt-get", "install", "-q", "-y", "--no-install-recommends", *names], environment=environment
    )
