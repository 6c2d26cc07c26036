"""`millrace COMMAND`: Millrace from a terminal.

Exit codes: 0 done; 2 bad input, with file, line and column on stderr; 3 a plan with changes; 1 anything else.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

from backend.client import directory_commands
from backend.client.directory import BadDirectory
from backend.client.documents import owner_text
from backend.client.errors import ClientError, Problem, Refused
from backend.client.millrace import Millrace


class Parser(argparse.ArgumentParser):
    """Says one line about a command that cannot be read."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}; see {self.prog} --help\n")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; returns the exit code."""
    given = _parser().parse_args(arguments)
    if hasattr(given, "local"):
        local: Callable[[argparse.Namespace], int] = given.local
        return local(given)
    run: Callable[[Millrace, argparse.Namespace], int] = given.run
    try:
        return run(Millrace.from_environment(), given)
    except Refused as refused:
        for problem in refused.problems:
            _complain(problem.message if hasattr(given, "folder") else _placed(given.file, problem))
        if not refused.problems:
            _complain(f"millrace: {_hint(refused)}")
        return 2 if refused.is_input else 1
    except BadDirectory as error:
        _complain(f"millrace: {error}")
        return 2
    except (ClientError, OSError, UnicodeDecodeError) as error:
        _complain(f"millrace: {error}")
        return 1
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        # Whoever read the output has seen enough.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0


def _parser() -> Parser:
    parser = Parser(
        prog="millrace",
        description="Millrace from a terminal.",
        epilog="MILLRACE_URL (http://localhost:8000) says where it is, MILLRACE_TOKEN who you are.",
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True, parser_class=Parser)

    def command(name: str, run: Callable[[Millrace, argparse.Namespace], int], text: str) -> Parser:
        made: Parser = commands.add_parser(name, help=text, description=text)
        made.set_defaults(run=run)
        return made

    deploy = command("deploy", _deploy, "save a query and let a topology answer it")
    deploy.add_argument("file", type=Path, help="one SELECT; the file's stem is the query's name")
    deploy.add_argument("--name", help="another name than the file's")
    deploy.add_argument("--topology", help="default: the one that shares most with it")
    deploy.add_argument("--wait", type=float, default=120.0, metavar="S", help="until it runs (120; 0: no)")
    check = command("check", _check, "say what is wrong with a query")
    check.add_argument("file", type=Path)
    preview = command("preview", _preview, "run a query over recent tuples without deploying it")
    preview.add_argument("file", type=Path)
    preview.add_argument("--limit", type=int, default=20, metavar="N")
    command("status", _status, "topologies and queries, and how they are")
    tail = command("tail", _tail, "a query's results, one JSON object per line, as they come")
    tail.add_argument("query")
    tail.add_argument("--limit", type=int, default=20, metavar="N", help="so many old ones first (20)")
    tail.add_argument("--once", action="store_true", help="end after the old ones")
    tail.add_argument(
        "--since",
        metavar="CURSOR",
        help="without loss from a cursor, a batch or `earliest` on; tells cursors on stderr",
    )
    command("streams", _streams, "streams, their columns and what lies in them")
    send = command("send", _send, "append tuples to a stream: JSON objects, one per line")
    send.add_argument("stream")
    send.add_argument("file", type=Path, nargs="?", help="default: standard input")
    stop = command("stop", _stop, "take a query out of its topology, or stop a topology")
    which = stop.add_mutually_exclusive_group(required=True)
    which.add_argument("query", nargs="?")
    which.add_argument("--topology")
    stop.add_argument("--drain", action="store_true", help="finish what a topology's streams hold first")
    start = command("start", _start, "start a topology")
    start.add_argument("topology")
    directory_commands.add_commands(command)
    return parser


def _deploy(millrace: Millrace, given: argparse.Namespace) -> int:
    name = given.name or given.file.stem
    deployment = millrace.deploy(name, given.file.read_text(encoding="utf-8"), given.topology)
    print(f"{deployment.query} v{deployment.version} goes to {deployment.topology}", flush=True)
    if given.wait <= 0:
        return 0
    if millrace.wait(deployment, given.wait):
        print(f"{deployment.topology} answers it; see: millrace tail {deployment.query}")
        return 0
    _complain(f"millrace: it does not run after {given.wait:g} s; see: millrace status")
    return 1


def _check(millrace: Millrace, given: argparse.Namespace) -> int:
    problems = millrace.check(given.file.read_text(encoding="utf-8"), given.file.stem)
    for problem in problems:
        _complain(_placed(given.file, problem))
    if not problems:
        print(f"{given.file}: valid")
    return 2 if problems else 0


def _preview(millrace: Millrace, given: argparse.Namespace) -> int:
    found = millrace.preview(given.file.read_text(encoding="utf-8"), given.file.stem, given.limit)
    _table(found.columns, [[_cell(row[name]) for name in found.columns] for row in found.rows])
    for line in found.sources:
        print(f"read {line}")
    if found.more:
        print(f"there are more than {len(found.rows)} results")
    return 0


def _status(millrace: Millrace, _: argparse.Namespace) -> int:
    topologies = millrace.topologies()
    _table(
        ("TOPOLOGY", "STATE", "QUERIES", "DEPLOYMENT", "ERROR"),
        [
            (
                one.name,
                one.state,
                str(len(one.queries)),
                one.deployment,
                one.error or one.deployment_error or "",
            )
            for one in topologies
        ],
    )
    print()
    _table(
        ("QUERY", "VERSION", "STATUS", "TOPOLOGY", "OWNER", "STREAMS"),
        [
            (
                *(one.name, str(one.version), one.status, one.topology or "-"),
                *(owner_text(one.owner, one.owner_is_service), ", ".join(one.streams)),
            )
            for one in millrace.queries()
        ],
    )
    return 1 if any(one.state == "failed" for one in topologies) else 0


def _tail(millrace: Millrace, given: argparse.Namespace) -> int:
    if given.since is not None:
        return _tail_since(millrace, given)
    if given.once:
        results: Iterable[object] = (one.row for one in millrace.results(given.query, given.limit))
    else:
        results = (one.row for one in millrace.tail(given.query, given.limit))
    for row in results:
        print(json.dumps(row, ensure_ascii=False), flush=True)
    return 0


def _tail_since(millrace: Millrace, given: argparse.Namespace) -> int:
    """Every result once; behind each page its cursor, for the next time."""
    for page in millrace.pages(given.query, given.since):
        for row in page.rows:
            print(json.dumps(row, ensure_ascii=False))
        sys.stdout.flush()
        if page.rows or given.once:
            _complain(f"cursor {page.cursor}")
        if given.once and not page.more:
            break
    return 0


def _streams(millrace: Millrace, _: argparse.Namespace) -> int:
    _table(
        ("STREAM", "ENTRIES", "QUERIES", "COLUMNS"),
        [
            (
                one.name,
                "-" if one.entries is None else str(one.entries),
                str(one.query_count),
                ", ".join(
                    f"{name} {kind}{' (event time)' if name == one.event_time else ''}"
                    for name, kind in one.columns
                ),
            )
            for one in millrace.streams()
        ],
    )
    return 0


def _send(millrace: Millrace, given: argparse.Namespace) -> int:
    lines = sys.stdin.buffer.read() if given.file is None else given.file.read_bytes()
    sent = millrace.send(given.stream, lines)
    print(f"{sent} {'tuple' if sent == 1 else 'tuples'} sent to {given.stream}")
    return 0


def _stop(millrace: Millrace, given: argparse.Namespace) -> int:
    if given.topology is not None:
        print(f"{given.topology} is {millrace.stop(given.topology, given.drain).state}")
    else:
        taken = millrace.undeploy(given.query)
        print(f"{taken.topology} no longer answers {taken.query}")
    return 0


def _start(millrace: Millrace, given: argparse.Namespace) -> int:
    print(f"{given.topology} is {millrace.start(given.topology).state}")
    return 0


def _placed(file: Path | None, problem: Problem) -> str:
    """Like a compiler: `q.sql:3:8: found ..., expected ...`."""
    place = f"{file or 'input'}:{problem.line or 1}:{problem.column or 1}"
    if problem.line is None:
        return f"{file or 'input'}: {problem.message}"
    hint = f"; did you mean {problem.suggestion}?" if problem.suggestion else ""
    return f"{place}: found {problem.found}, expected {problem.expected}{hint}"


def _hint(refused: Refused) -> str:
    if refused.status == 403 and refused.code is None:
        return f"{refused}: is MILLRACE_TOKEN right, and may its owner do this?"
    return str(refused)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    widths = [max(map(len, column)) for column in zip(head, *rows, strict=True)]
    for row in (head, *rows):
        print("  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip())


def _cell(value: object) -> str:
    return "" if value is None else value if isinstance(value, str) else json.dumps(value)


def _complain(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    sys.exit(main())
