"""Probe a URL: `python -m backend.observation.probe URL`.

Exits with 0 if it answers 200, else 1. For images without curl.
"""

from __future__ import annotations

import sys
import urllib.error
import urllib.request

TIMEOUT_SECONDS = 4.0
"""Less than the timeout of the health checks in docker/compose.yaml."""


def main() -> int:
    try:
        # The host name is one that the site answers to, whatever MILLRACE_HOSTS says.
        request = urllib.request.Request(sys.argv[1], headers={"Host": "localhost"})
        with urllib.request.urlopen(request, timeout=TIMEOUT_SECONDS) as answer:
            return 0 if answer.status == 200 else 1
    except (urllib.error.URLError, OSError) as error:
        sys.stderr.write(f"{sys.argv[1]}: {error}\n")
        return 1


if __name__ == "__main__":
    sys.exit(main())
