"""System checks of what the environment says of the provider."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from backend.sign_on.groups import read_teams

_HERE = ("localhost", "127.0.0.1", "::1")


@register()
def check_provider(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """Ask for TLS to the provider.

    Nothing else makes its answers its own.
    """
    faults: list[CheckMessage] = []
    url = urlsplit(settings.MILLRACE_OIDC_URL)
    if settings.MILLRACE_OIDC_URL and not (
        url.hostname and (url.scheme == "https" or (url.scheme == "http" and url.hostname in _HERE))
    ):
        hint = "expected an https:// address, as the provider calls its issuer"
        faults.append(
            Error(f"MILLRACE_OIDC_URL is {settings.MILLRACE_OIDC_URL!r}", hint=hint, id="millrace.E030")
        )
    try:
        read_teams(settings.MILLRACE_OIDC_TEAMS)
    except ValueError as error:
        faults.append(Error(f"MILLRACE_OIDC_TEAMS: {error}", id="millrace.E031"))
    return faults
