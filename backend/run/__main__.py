"""`python -m backend.run`: the whole product on one machine, until Ctrl-C or SIGTERM.

    PORT                where the pages are (8000)
    MILLRACE_BIND       the address to listen on (127.0.0.1)
    MILLRACE_HOME       everything that is written (.millrace)
    REDIS_URL           a Redis to use instead of the embedded one
    MILLRACE_DEMO       0 leaves out the demo's account, streams, queries and feeder
    MILLRACE_DEMO_SPEED simulated seconds per second (3600)

Exit codes: 0 after Ctrl-C or SIGTERM, 2 for a setting that cannot be used, 1 when a part ended
that should not have.
"""

from __future__ import annotations

import signal
import sys

from backend.run.parts import Part, PartEnded
from backend.run.product import NotReady, Product
from backend.run.setting import Setting, Unusable


def main() -> int:
    try:
        setting = Setting.from_environment()
    except Unusable as reason:
        sys.stderr.write(f"{reason}\n")
        return 2
    product = Product(setting)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: product.stop())
    try:
        product.start()
        product.watch()
    except PartEnded as ended:
        _tell(ended.part, ended.code)
        return 1
    except (NotReady, Unusable) as reason:
        sys.stderr.write(f"{reason}\n")
        return 2 if isinstance(reason, Unusable) else 1
    finally:
        product.end()
    return 0


def _tell(part: Part, code: int) -> None:
    sys.stderr.write(f"{part.name} ended with code {code}; the end of {part.log}:\n")
    sys.stderr.writelines(f"    {line}\n" for line in part.last_lines(15))


if __name__ == "__main__":
    sys.exit(main())
