"""Seeds that are other ones at every commit, and the same for everybody who has it.

What fails with them at one place fails at every other: nobody needs to have kept what the machine wrote.
"""

from __future__ import annotations

import hashlib
import random
import subprocess
from pathlib import Path

_ROOT = Path(__file__).resolve().parents[1]


def fresh_seed(purpose: str, below: int) -> int:
    """The first seed to try: of the committed files, by chance where git knows of none.

    >>> fresh_seed("documents", 100) in range(100)
    True

    Args:
        purpose: What it is for; each has a seed of its own.
        below: How many seeds there are to choose among.
    """
    asked = ["git", "rev-parse", "HEAD^{tree}"]
    try:
        tree = subprocess.run(asked, cwd=_ROOT, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return random.SystemRandom().randrange(below)
    digest = hashlib.sha256(f"{purpose} {tree}".encode()).digest()
    return int.from_bytes(digest[:8], "big") % below
