"""Prepares a machine for Millrace: `python3 docker/bootstrap setup|browser|lock|audit|where`.

Runs under the system's Python, before `.venv` exists, so it uses the standard library only.
Every step leaves a stamp in `.venv` and costs nothing when nothing changed.

    setup     Python packages, Java with an archive of Spark's classes, Node, the built front end
    browser   a Chromium for the browser tests; its path goes to .venv/chromium
    audit     known weaknesses of the pinned packages; ends with 1 if there are, 3 if nobody could say
    lock      requirements.lock anew, from a clean environment and pyproject.toml
    where     what is used: one line per tool
"""

import sys

if sys.version_info < (3, 11):  # noqa: UP036  (an older Python must still be able to say so)
    sys.exit(
        "millrace: found Python %d.%d, expected 3.11 or newer; install one and call "  # noqa: UP031
        "`make PYTHON=python3.11 ...`" % sys.version_info[:2]
    )

import audit
import browser
import console
import java
import node
import packages


def setup() -> None:
    packages.install()
    java.install()
    java.archive()
    node.install()
    node.build()


def where() -> None:
    console.say("python", str(packages.PYTHON))
    console.say("java", str(java.find() or "none"))
    console.say("node", str(node.find() or "none"))
    console.say("chromium", str(browser.find() or "none"))


COMMANDS = {
    "setup": setup,
    "browser": browser.install,
    "lock": packages.lock,
    "audit": audit.audit,
    "where": where,
}


def main() -> int:
    if len(sys.argv) != 2 or sys.argv[1] not in COMMANDS:
        sys.stderr.write(f"usage: python3 docker/bootstrap {'|'.join(COMMANDS)}\n")
        return 2
    try:
        code = COMMANDS[sys.argv[1]]()
    except console.CannotInstall as reason:
        sys.stderr.write(f"millrace: {reason}\n")
        return 1
    except KeyboardInterrupt:
        return 130
    return code or 0


if __name__ == "__main__":
    sys.exit(main())
