"""System checks of the settings, by name, for `manage.py check` and every start."""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from urllib.parse import urlsplit

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, Warning, register

from backend.http.proxies import networks
from backend.privacy import is_open
from optimizer.algebra.errors import InputError
from optimizer.udf.reader import SETTING, allowed_functions


@register()
def check_redis(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """Check REDIS_URL, without which one can only migrate and print the schema."""
    if not settings.REDIS_URL:
        return [
            Warning(
                "REDIS_URL is not set",
                hint="set it to redis://host:port/0, or use `make run`",
                id="millrace.W001",
            )
        ]
    scheme = urlsplit(settings.REDIS_URL).scheme
    if scheme not in {"redis", "rediss", "redis+socket", "unix"}:
        return [
            Error(
                f"REDIS_URL has the scheme {scheme!r}",
                hint="expected redis://, rediss:// or unix://",
                id="millrace.E001",
            )
        ]
    return []


@register()
def check_numbers(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    faults: list[CheckMessage] = []
    for name, least in settings.MILLRACE_LEAST.items():
        value = settings.MILLRACE_NOT_NUMBERS.get(name, getattr(settings, name))
        if not isinstance(value, float) or not least <= value < float("inf"):
            faults.append(
                Error(f"{name} is {value!r}", hint=f"expected at least {least:g}", id="millrace.E002")
            )
    return faults


@register()
def check_home(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    if os.access(settings.MILLRACE_HOME, os.W_OK):
        return []
    return [
        Error(f"MILLRACE_HOME {settings.MILLRACE_HOME} cannot be written", id="millrace.E003"),
    ]


@register()
def check_privacy(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """It is closed at every start, if it is this account's to close."""
    if not is_open(settings.MILLRACE_HOME):
        return []
    hint = "it belongs to somebody else: chmod go= it, or choose another folder"
    return [
        Warning(
            f"MILLRACE_HOME {settings.MILLRACE_HOME} is open to other accounts", hint=hint, id="millrace.W003"
        )
    ]


@register()
def check_rates(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """The limits on requests must be something that the throttles read."""
    rates = settings.MILLRACE_RATES
    names = {
        "user": "MILLRACE_RATE_ACCOUNT",
        "anon": "MILLRACE_RATE_ANONYMOUS",
        "sign_in": "MILLRACE_RATE_SIGN_IN",
    }
    return [
        Error(f"{name} is {rates[scope]!r}", hint="expected N/s, N/min, N/hour or N/day", id="millrace.E004")
        for scope, name in names.items()
        if not re.fullmatch(r"[1-9][0-9]*/(s|sec|min|hour|day)", rates[scope])
    ]


@register()
def check_proxies(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """Check the trusted proxies.

    Behind a proxy that is not named no address is right, and no request counts as one over TLS.
    """
    try:
        found = networks(tuple(settings.MILLRACE_TRUSTED_PROXIES))
    except ValueError as error:
        expected = "expected addresses or networks such as 10.1.2.3,172.16.0.0/12"
        return [Error(f"MILLRACE_TRUSTED_PROXIES: {error}", hint=expected, id="millrace.E022")]
    if settings.SECURE and not found:
        return [
            Warning(
                "MILLRACE_SECURE is 1 without MILLRACE_TRUSTED_PROXIES",
                hint="name the proxy that ends TLS, or every request is redirected; "
                "see docs/guide/operations.md",
                id="millrace.W002",
            )
        ]
    return []


@register()
def check_log_format(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    if settings.MILLRACE_LOG_FORMAT in ("line", "json"):
        return []
    found = settings.MILLRACE_LOG_FORMAT
    return [Error(f"MILLRACE_LOG_FORMAT is {found!r}", hint="expected line or json", id="millrace.E005")]


@register()
def check_email(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    if not settings.MILLRACE_EMAIL or urlsplit(settings.MILLRACE_EMAIL).scheme in ("smtp", "smtps", "file"):
        return []
    hint = "expected smtp://user:password@host:587?tls=1 or file:///folder"
    return [Error("MILLRACE_EMAIL is neither", hint=hint, id="millrace.E007")]


@register()
def check_functions(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """Check the file of functions that queries may call, before a query reads it."""
    try:
        allowed_functions()
    except InputError as error:
        return [Error(str(error), hint=f"mend the file, or unset {SETTING}", id="millrace.E021")]
    return []


@register(Tags.security, deploy=True)
def check_demo(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """An account whose password is in the manual is for a machine of one's own."""
    if os.environ.get("MILLRACE_DEMO", "0") == "1" and "MILLRACE_DEMO_PASSWORD" not in os.environ:
        return [Error("MILLRACE_DEMO is 1 with the demo's known password", id="millrace.E006")]
    return []
