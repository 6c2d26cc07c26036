"""Runs a page of the guide: writes the files that it shows, gives its commands, compares what it prints.

A block behind a line with a file's name in backquotes and a colon is that file. In a `console` block, lines
with `$` are commands, the others what they print together on both outputs; `...` stands for anything, and
`[N]` for the exit code, which is 0 without.
"""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BLOCK = re.compile(
    r"(?:^`(?P<file>[\w./-]+)`:\n\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL
)
"""A fenced block of a page, with the file that it is, if it is one."""
_COMMAND = re.compile(r"^\$ (?P<command>.*)\n(?P<printed>(?:(?!\$ ).*\n)*)", re.MULTILINE)
Run = Callable[..., "subprocess.CompletedProcess[str]"]


def run_page(name: str, folder: Path, run: Run) -> int:
    """Raises `AssertionError` for the first command that does something else; gives how many there were."""
    commands = 0
    for block in BLOCK.finditer((ROOT / "docs/guide" / name).read_text()):
        if block["file"]:
            path = folder / block["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block["text"])
        elif block["kind"] == "console":
            for found in _COMMAND.finditer(block["text"]):
                _give(found["command"], found["printed"], folder, run)
                commands += 1
    return commands


def _give(command: str, printed: str, folder: Path, run: Run) -> None:
    words = shlex.split(command)
    if words[0] == "rm":
        for word in words[1:]:
            (folder / word).unlink()
        return
    assert words[0] == "millrace", command
    code = 0
    ending = re.search(r"^\[(\d+)\]\n\Z", printed, re.MULTILINE)
    if ending:
        code, printed = int(ending[1]), printed[: ending.start()]
    done = run(*words[1:])
    said = done.stdout + done.stderr
    assert done.returncode == code, f"{command}: {done.returncode}: {said}"
    # Lines of `...` alone are any number of lines.
    pattern = re.escape(printed).replace(re.escape("..."), ".*")
    assert re.fullmatch(pattern, said, re.DOTALL), f"{command} prints\n{said}\nand not\n{printed}"
