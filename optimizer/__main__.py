"""`python -m optimizer`: see `optimizer.cli.plan`."""

from __future__ import annotations

import os
import sys

from optimizer.cli.plan import main

if __name__ == "__main__":
    try:
        code = main(sys.argv[1:])
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough; Python would complain again when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = 1
    sys.exit(code)
