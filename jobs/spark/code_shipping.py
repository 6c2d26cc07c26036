"""The code that executors run, taken along by the driver.

Executors on other hosts need Python and the libraries at the same place as the driver, but not this
project: they get the driver's own copy, so that no host can run another version of it.
"""

from __future__ import annotations

import zipfile
from pathlib import Path

PACKAGES = ("jobs", "optimizer")
"""What tasks import; `tests.unit.test_imports` keeps them from importing anything else of the project."""


def package_code(root: Path, archive: Path) -> Path:
    """Write `PACKAGES`' modules, found under `root`, to a zip file; returns its path.

    Sources, not compiled modules: the directory of an installation may be read-only.
    """
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for package in PACKAGES:
            for module in sorted((root / package).rglob("*.py")):
                target.write(module, module.relative_to(root))
    return archive
