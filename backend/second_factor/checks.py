"""System checks of what the environment says of second factors."""

from __future__ import annotations

from collections.abc import Sequence

from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from backend.second_factor.queries import REQUIRED_OF


@register()
def check_required_of(app_configs: Sequence[AppConfig] | None, **_: object) -> list[CheckMessage]:
    """Refuse a word that would make it compulsory for no account."""
    found = settings.MILLRACE_SECOND_FACTOR
    if found in REQUIRED_OF:
        return []
    hint = f"expected {', '.join(one for one in REQUIRED_OF if one)} or nothing"
    return [Error(f"MILLRACE_SECOND_FACTOR is {found!r}", hint=hint, id="millrace.E032")]
