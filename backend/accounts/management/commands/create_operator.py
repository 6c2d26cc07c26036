"""`manage.py create_operator NAME`: an operator's account, or an admin's."""

from __future__ import annotations

import os
from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

from backend.accounts.actions import create_operator


class Command(BaseCommand):
    help = (
        "Create an operator, or an admin; the password comes from the environment variable MILLRACE_PASSWORD."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("name")
        parser.add_argument("--admin", action="store_true", help="who also makes accounts and teams")

    def handle(self, *_: object, name: str, admin: bool, **__: object) -> None:
        password = os.environ.get("MILLRACE_PASSWORD")
        if not password:
            raise CommandError("MILLRACE_PASSWORD is not set: expected the new account's password")
        create_operator(name, password, is_admin=admin)
        self.stdout.write(f"{'admin' if admin else 'operator'} {name} is there")
