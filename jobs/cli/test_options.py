"""The options of `python -m jobs test`."""

from __future__ import annotations

import argparse
from pathlib import Path


def add_test_options(parser: argparse.ArgumentParser) -> None:
    """Declare them; they need nothing of the runtime."""
    parser.add_argument("directory", type=Path, metavar="DIR", help="with queries/NAME.test.yaml")
    parser.add_argument(
        "--query", action="append", default=[], metavar="NAME", help="only its cases; may be repeated"
    )
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the arrival orders (1)")
    parser.add_argument("--json", action="store_true", help="one JSON object instead of lines")
    parser.add_argument("--junit", type=Path, metavar="FILE", help="also write JUnit's XML, for CI")
