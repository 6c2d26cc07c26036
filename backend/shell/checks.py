"""System checks of the settings: `manage.py check` and every start say what is wrong, by name."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings
from django.core.checks import CheckMessage, Error, Warning, register

_NUMBERS = {
    "MILLRACE_PLAN_SECONDS": 0.1,
    "MILLRACE_HEARTBEAT_SECONDS": 3.0,
    "MILLRACE_START_SECONDS": 5.0,
    "MILLRACE_TRIGGER_MS": 1.0,
    "MILLRACE_PARALLELISM": 1.0,
}


@register()
def check_redis(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    """REDIS_URL is needed to serve and to work, but not to migrate or to print the schema."""
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
def check_numbers(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    faults: list[CheckMessage] = []
    for name, least in _NUMBERS.items():
        value = getattr(settings, name)
        if not isinstance(value, float) or not least <= value < float("inf"):
            faults.append(
                Error(f"{name} is {value!r}", hint=f"expected at least {least:g}", id="millrace.E002")
            )
    return faults


@register()
def check_home(app_configs: Sequence[Any] | None, **_: Any) -> list[CheckMessage]:
    if os.access(settings.MILLRACE_HOME, os.W_OK):
        return []
    return [
        Error(f"MILLRACE_HOME {settings.MILLRACE_HOME} cannot be written", id="millrace.E003"),
    ]
