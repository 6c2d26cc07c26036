#!/usr/bin/env python
"""Django's command line for the backend."""

import os
import sys

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "backend.settings")
    from django.core.management import execute_from_command_line

    from backend.audit.origin import Through, coming

    with coming(Through.COMMAND, " ".join(sys.argv[1:2])):
        execute_from_command_line(sys.argv)
