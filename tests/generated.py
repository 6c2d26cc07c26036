"""`python -m tests.generated [--check]`: the files that are generated from code, written or compared.

    optimizer/physical_graph.schema.json    the JSON Schema of physical graphs, from optimizer.physical.graph
    frontend/src/api/openapi.json    the API's OpenAPI document, from the Django views
    frontend/src/api/schema.d.ts     its TypeScript types
    frontend/src/live/messages.ts    parsers and types of live messages, from jobs.protocol and that document
    frontend/src/plan/physicalGraph.ts    parsers and types of physical graphs, from their schema
    frontend/src/editor/sql/functions.ts   what completion offers, from the declarations of functions
    docs/guide/functions.md          its list, from the same
    ARCHITECTURE.md                  its tables of rooms, from tests.layers and the rooms' docstrings

They are committed, so that a change of a contract shows in a diff; `make check` fails when they are
out of date, and `make schema` writes them.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from tests.functions import completion, with_functions
from tests.parsers import graph_parsers, live_parsers
from tests.rooms import with_rooms

_ROOT = Path(__file__).resolve().parents[1]
PLAN = Path("optimizer/physical_graph.schema.json")
OPENAPI = Path("frontend/src/api/openapi.json")
TYPES = Path("frontend/src/api/schema.d.ts")
MESSAGES = Path("frontend/src/live/messages.ts")
GRAPH = Path("frontend/src/plan/physicalGraph.ts")
COMPLETION = Path("frontend/src/editor/sql/functions.ts")
GUIDE = Path("docs/guide/functions.md")
ARCHITECTURE = Path("ARCHITECTURE.md")
_OF_PATHS = re.compile(r"^ {8}parameters: \{\n(?: {12}\w+\?: never;\n)+ {8}\};\n", re.MULTILINE)
_ABSENT = re.compile(
    r"^ +(?:(?!query|path)\w+\?: never;|headers: \{\n +\[name: string\]: unknown;\n +\};)\n", re.MULTILINE
)


class Failed(Exception):
    """A generator ended with an error, or complained; the text is what it said."""


def generate(folder: Path) -> dict[Path, str]:
    """All generated files as they should be; scratch files go into `folder`."""
    plan = _run([sys.executable, "-m", "optimizer", "schema"])
    django = {"MILLRACE_HOME": str(folder / "home"), "REDIS_URL": "redis://localhost:1/0"}
    strict = ["--validate", "--fail-on-warn"]
    openapi = _run([sys.executable, "manage.py", "spectacular", "--format", "openapi-json", *strict], django)
    document = folder / "openapi.json"
    document.write_text(_sorted(openapi))
    types = folder / "schema.d.ts"
    _run(["npx", "--no-install", "openapi-typescript", str(document), "--output", str(types)])
    architecture = with_rooms((_ROOT / ARCHITECTURE).read_text())
    return {
        PLAN: _sorted(plan),
        OPENAPI: _sorted(openapi),
        TYPES: _without_absent(types.read_text()),
        MESSAGES: live_parsers(json.loads(openapi)),
        GRAPH: graph_parsers(json.loads(plan)),
        COMPLETION: completion(),
        GUIDE: with_functions((_ROOT / GUIDE).read_text()),
        ARCHITECTURE: architecture,
    }


def _without_absent(types: str) -> str:
    """Types without what openapi-fetch never looks at: absent methods, a path's own parameters, headers."""
    paths, rest = types.split("export type webhooks", maxsplit=1)
    paths = _OF_PATHS.sub("", paths)
    return _ABSENT.sub("", f"{paths}export type webhooks{rest}")


def _sorted(text: str) -> str:
    return json.dumps(json.loads(text), indent=1, sort_keys=True, ensure_ascii=False) + "\n"


def _run(command: list[str], environment: dict[str, str] | None = None) -> str:
    done = subprocess.run(
        command,
        cwd=_ROOT,
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        raise Failed(f"{' '.join(command[:4])} ...: {done.stderr.strip() or done.stdout.strip()}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.generated")
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    checking = parser.parse_args().check
    stale = []
    with tempfile.TemporaryDirectory() as scratch:
        try:
            generated = generate(Path(scratch))
        except Failed as error:
            sys.stderr.write(f"{error}\n")
            return 1
    for path, text in generated.items():
        file = _ROOT / path
        if file.exists() and file.read_text() == text:
            continue
        stale.append(str(path))
        if not checking:
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    if checking and stale:
        sys.stderr.write(f"out of date: {', '.join(stale)}; run `make schema` and commit them\n")
        return 1
    sys.stdout.write(f"generated files: {'written: ' + ', '.join(stale) if stale else 'up to date'}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
