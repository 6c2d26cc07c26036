"""Requests of accounts that are signed in."""

from __future__ import annotations

from django.contrib.auth.models import User
from rest_framework.request import Request


class AccountRequest(Request):
    """The request that a view behind `IsAuthenticated` is given.

    Its user is never anonymous. A type, never made.
    """

    user: User
