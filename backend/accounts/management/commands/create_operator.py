"""`manage.py create_operator NAME`: an account that may start and stop topologies."""

from __future__ import annotations

import os
from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from backend.accounts.actions import create_operator


class Command(BaseCommand):
    help = "Create an operator; the password comes from the environment variable MILLRACE_PASSWORD."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")

    def handle(self, *_: object, name: str, **__: object) -> None:
        password = os.environ.get("MILLRACE_PASSWORD")
        if not password:
            raise CommandError("MILLRACE_PASSWORD is not set: expected the new account's password")
        create_operator(name, password)
        self.stdout.write(f"operator {name} is there")
