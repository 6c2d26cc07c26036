"""Run the runtime's command line: `run`, `replay`, `test`, `calibrate`, `archive`.

`run` stands under the control plane.

Exit codes: 0 done, 2 bad input (one line on stderr with file, place and expectation), 1 anything
else.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from jobs.cli.options import MEMORY, STATE, Parser, add_test_options, count, duration_us, tasks, weight
from jobs.sinks.configured import add_sink_options
from optimizer.algebra.errors import Infeasible, InputError
from optimizer.algebra.settings import size


def main(arguments: Sequence[str]) -> int:
    """Run one command; returns the exit code."""
    try:
        given = _parser(arguments[0] if arguments else "").parse_args(arguments)
        if given.command == "calibrate":
            from jobs.cli.calibrate import run_calibration

            return run_calibration(given)
        if given.command == "archive":
            from jobs.cli.archive import archive_classes

            return archive_classes()
        if given.command == "test":
            from jobs.cli.test import test

            return test(given)
        if given.command == "replay":
            from jobs.cli.replay import replay

            replay(given)
        else:
            from jobs.cli.launch import launch

            return launch(given)
    except InputError as error:
        print(error, file=sys.stderr)
        return 2
    except Infeasible as error:
        print(f"command line: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("interrupted; run the same command again to continue", file=sys.stderr)
        return 1
    except Exception as error:
        if given.command in ("archive", "calibrate", "test"):
            raise
        from jobs.cli.ending.last_words import tell
        from jobs.cli.ending.told_by_spark import refusal

        if (refused := refusal(error)) is not None:
            print(refused, file=sys.stderr)
            return 2
        folder = given.out if given.command == "replay" else given.checkpoint
        tell(error, (folder / "checkpoint" if given.command == "replay" else folder) / "error.log")
        return 1
    return 0


def _parser(command: str) -> Parser:
    """The parser of all commands.

    The options of a replay need the planner, so they are there only if that is the command.
    """
    parser = Parser(prog="python -m jobs", description="Answer planned stream-join queries on Spark.")
    commands = parser.add_subparsers(dest="command", required=True, parser_class=Parser)
    replaying = commands.add_parser("replay", help="answer a workload's queries over files")
    if command == "replay":
        from jobs.cli.replay_options import add_replay_options

        add_replay_options(replaying)
    calibrating = commands.add_parser(
        "calibrate", help="measure what this machine takes for the parts of a batch, under a minute"
    )
    calibrating.add_argument("--out", type=Path, default=Path("calibration.json"), metavar="FILE")
    commands.add_parser("archive", help="archive the classes that Spark loads, to start sooner from then on")
    add_test_options(commands.add_parser("test", help="answer a directory's fixtures in every way"))
    running = commands.add_parser("run", help="run a topology under the control plane")
    running.add_argument("--topology", required=True, metavar="NAME")
    running.add_argument("--run", required=True, metavar="RUN_ID", help="under which it reports")
    running.add_argument("--redis", required=True, metavar="URL", help="redis://HOST:PORT/DB")
    running.add_argument(
        "--checkpoint", type=Path, required=True, metavar="DIR", help="state; continued if there"
    )
    running.add_argument(
        "--plan", type=Path, metavar="PLAN_ID.json", help="default: the checkpoint's, or a deploy message"
    )
    running.add_argument(
        "--trigger-ms", type=count, default=500, metavar="MS", help="least time between batches"
    )
    running.add_argument(
        "--storage-weight",
        type=weight,
        default=1.0,
        metavar="W",
        help="probe tuples that keeping a tuple for a second is worth when join matrices take shape",
    )
    running.add_argument(
        "--idle-timeout", type=duration_us, default=30_000_000, metavar="DURATION",
        help="a stream silent for so long stops holding back the watermark (default: 30 seconds)",
    )  # fmt: skip
    running.add_argument("--parallelism", type=tasks, metavar="N", help="partitions of a new checkpoint")
    running.add_argument(
        "--batch-rows", type=count, default=200_000, metavar="N", help="most tuples of a batch"
    )
    running.add_argument("--epoch-batches", type=count, default=16, metavar="N", help="batches of an epoch")
    running.add_argument(
        "--most-combinations", type=count, default=5_000_000, metavar="N",
        help="combinations that a step may make in one batch and task; a batch in which one makes more "
        "waits for another plan (default: 5000000)",
    )  # fmt: skip
    running.add_argument("--memory-limit", type=size, metavar="BYTES", help=MEMORY)
    running.add_argument(
        "--out", type=Path, metavar="DIR", help="also write results and dead letters as Parquet"
    )
    add_sink_options(running)
    running.add_argument(
        "--most-unpublished", type=count, metavar="N",
        default=os.environ.get("MILLRACE_KAFKA_MOST_UNPUBLISHED") or "10000",
        help="batches that may wait for the sink of results before the topology does "
        "(default: MILLRACE_KAFKA_MOST_UNPUBLISHED, or 10000)",
    )  # fmt: skip
    running.add_argument(
        "--generate", action="append", default=[], metavar="STREAM=RATE", help="make a stream's tuples up"
    )
    running.add_argument("--master", metavar="URL", help="Spark master (default: this machine)")
    running.add_argument("--state", metavar="URL", help=f"{STATE}; below it the topology's name")
    return parser


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
