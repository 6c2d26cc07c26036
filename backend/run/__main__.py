"""Run the product on one machine until Ctrl-C or SIGTERM: `python -m backend.run`.

    PORT                where the pages are (8000)
    MILLRACE_BIND       the address to listen on (127.0.0.1)
    MILLRACE_HOME       everything that is written (.millrace)
    REDIS_URL           a Redis to use instead of the embedded one
    MILLRACE_DEMO       0 leaves out the demo's account, streams, queries and feeder
    MILLRACE_DEMO_SPEED simulated seconds per second (3600)

A part that ends is started again, with pauses that grow. Ctrl-C once more ends everything at once.

Exit codes: 0 when told to end, 2 for a setting that cannot be used, 1 when a part cannot be started.
"""

from __future__ import annotations

import signal
import sys
from argparse import ArgumentParser, RawTextHelpFormatter

from backend.run.product import CannotGoOn, Product
from backend.run.setting import Setting, Unusable


def main() -> int:
    # It takes none; whoever asks for help must not start everything.
    ArgumentParser(
        prog="python -m backend.run", description=__doc__, formatter_class=RawTextHelpFormatter
    ).parse_args()
    try:
        setting = Setting.from_environment()
    except Unusable as reason:
        sys.stderr.write(f"{reason}\n")
        return 2
    except KeyboardInterrupt:
        return 0
    product = Product(setting)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        # Under nohup a closed terminal is no reason to end.
        if number != signal.SIGHUP or signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, lambda *_: product.stop())
    failure: CannotGoOn | Unusable | None = None
    try:
        product.start()
        product.watch()
    except (CannotGoOn, Unusable) as reason:
        failure = reason
    finally:
        product.end()
    if failure is None:
        return 0
    sys.stderr.write(f"{failure}\n")
    return 2 if isinstance(failure, Unusable) else 1


if __name__ == "__main__":
    sys.exit(main())
