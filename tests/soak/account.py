"""`python -m tests.soak.account`: makes an operator and prints the secret of a token of theirs.

A person signs in and makes a token on a page; a program needs to get one without a browser.
"""

from __future__ import annotations

import secrets
import sys

import django

django.setup()

from backend.accounts.actions import create_operator  # noqa: E402
from backend.tokens.actions import create_token  # noqa: E402

_, secret = create_token(create_operator("soak", secrets.token_urlsafe(16)), "soak")
sys.stdout.write(secret)
