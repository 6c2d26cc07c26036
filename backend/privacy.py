"""Keeping what the product writes from other accounts of the machine.

Streams, results, the secret key, the database and logs lie under MILLRACE_HOME. Every process of the product
writes with a umask of 077, and a home that an earlier release left open is closed, with all that is in it.
"""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

UMASK = 0o077
_OTHERS = 0o077
"""What neither the group nor anybody else is to have."""


def keep_private(home: Path) -> None:
    """From now on, keep this process' files, and all in `home`, its account's alone.

    A home that is closed already is not walked again: nobody gets past it. What belongs to another account is
    that one's to close; `manage.py check` tells of a home that stays open.
    """
    os.umask(UMASK)
    home.mkdir(parents=True, exist_ok=True)
    if not is_open(home) or home.stat().st_mode & stat.S_ISVTX:
        # A folder that is everybody's, as /tmp is, stays so.
        return
    for folder, folders, files in os.walk(home):
        for name in (*folders, *files):
            _close(Path(folder, name))
    # Last: if this ends in between, the next start walks again.
    _close(home)


def is_open(home: Path) -> bool:
    """True if another account of the machine may look into it.

    None can look into what is not there.
    """
    return home.exists() and bool(home.stat().st_mode & _OTHERS)


def _close(path: Path) -> None:
    # Jobs remove and rename files meanwhile.
    with suppress(FileNotFoundError, PermissionError):
        mode = path.lstat().st_mode
        if not stat.S_ISLNK(mode) and mode & _OTHERS:
            path.chmod(stat.S_IMODE(mode) & ~_OTHERS)
