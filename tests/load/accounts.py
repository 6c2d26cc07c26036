"""`python -m tests.load.accounts NAME ...`: makes authors and prints a token of each, one a line."""

from __future__ import annotations

import sys

import django

django.setup()

from django.contrib.auth.models import User  # noqa: E402

from backend.tokens.actions import create_token  # noqa: E402

for name in sys.argv[1:]:
    account = User.objects.create_user(name)
    sys.stdout.write(create_token(account, "load")[1] + "\n")
