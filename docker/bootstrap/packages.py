"""The virtual environment and the pinned Python packages in it."""

import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

import stamps
from console import ROOT, CannotInstall, apt_install, run, run_patiently, say

VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
SLOW_NETWORK = ("--retries", "10", "--timeout", "60")
_LOCK = ROOT / "requirements.lock"
_PROJECT = ROOT / "pyproject.toml"


def install() -> None:
    """Makes `.venv` hold exactly what requirements.lock names, and the `millrace` command."""
    inputs = stamps.digest([_LOCK, _PROJECT], sys.version)
    if PYTHON.exists() and stamps.is_done("packages", inputs):
        return
    if not PYTHON.exists():
        _create(VENV)
    count = sum(1 for line in _LOCK.read_text().splitlines() if "==" in line)
    say("python", f"installing {count} packages into .venv (a few minutes the first time)")
    pip = [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", *SLOW_NETWORK]
    failed = run_patiently("python", [*pip, "-r", _LOCK]) or run_patiently(
        "python", [*pip, "--no-deps", "--editable", ROOT]
    )
    if failed:
        raise CannotInstall(
            f"pip could not install requirements.lock or the millrace command:\n{failed}\n"
            "check that this machine reaches its package index (pip config list), then call make again"
        )
    stamps.done("packages", inputs)


def lock() -> None:
    """Writes requirements.lock: pyproject.toml's packages and all that they need, pinned exactly."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["dev"]]
    with tempfile.TemporaryDirectory() as folder:
        clean = Path(folder) / "venv"
        _create(clean)
        python = clean / "bin" / "python"
        say("lock", f"resolving {len(wanted)} requirements in a clean environment")
        pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", *SLOW_NETWORK]
        failed = run_patiently("lock", [*pip, *wanted])
        if failed:
            raise CannotInstall(f"pip could not install pyproject.toml's dependencies:\n{failed}")
        # Plain `freeze` leaves out setuptools under some versions of Python.
        everything = [python, "-m", "pip", "freeze", "--all", "--exclude", "pip", "--exclude", "wheel"]
        frozen = subprocess.run(everything, capture_output=True, text=True, check=True)
    _LOCK.write_text(
        "# Exact versions of everything that pyproject.toml needs; written by `make lock`.\n" + frozen.stdout
    )
    say("lock", f"requirements.lock pins {len(frozen.stdout.splitlines())} packages")


def _create(folder: Path) -> None:
    """A virtual environment with pip, even where Debian ships Python without `ensurepip`."""
    say("python", f"creating {folder.name} with Python {sys.version.split()[0]}")
    command = [sys.executable, "-m", "venv", "--clear", folder]
    failed = run(command)
    if not failed:
        return
    version = f"python3.{sys.version_info.minor}-venv"
    why_not = apt_install(version)
    failed = run(command) if why_not is None else failed
    if failed:
        raise CannotInstall(
            f"cannot create a virtual environment: {failed.splitlines()[-1]}; install Python's venv module "
            f"(Debian, Ubuntu: apt-get install {version}), then call make again"
        )
