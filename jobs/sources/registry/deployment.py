"""The deployment's schema registry: address and credentials, from the environment.

Nothing here is written to a plan, a checkpoint, a log or an event.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from optimizer.algebra.errors import InputError, Place

URL = "MILLRACE_SCHEMA_REGISTRY_URL"
_USERNAME = "MILLRACE_SCHEMA_REGISTRY_USERNAME"
_PASSWORD = "MILLRACE_SCHEMA_REGISTRY_PASSWORD"
CA = "MILLRACE_SCHEMA_REGISTRY_CA"


@dataclass(frozen=True, slots=True)
class Registry:
    url: str
    """http:// or https://, several with commas between: the next is asked while one is away."""
    login: tuple[str, str] | None = field(default=None, repr=False)
    """A name and a password; None where it asks for none."""
    authority: str | None = None
    """A PEM file of the authorities that a registry behind https is trusted by; None for the public ones."""


def configured(environment: Mapping[str, str] = os.environ) -> Registry | None:
    """The deployment's schema registry; None if it has none.

    Raises `InputError` for an address that is none, and for one with a password in it, which logs would show.

    >>> configured({}) is None
    True
    >>> configured({"MILLRACE_SCHEMA_REGISTRY_URL": "http://registry:8081/"})
    Registry(url='http://registry:8081', authority=None)
    """
    urls = [url.strip().rstrip("/") for url in environment.get(URL, "").split(",") if url.strip()]
    if not urls:
        return None
    for url in urls:
        scheme, separator, rest = url.partition("://")
        if scheme not in ("http", "https") or not separator or not rest:
            raise _refused("an address without http:// or https://", "such as http://registry:8081")
        if "@" in rest.partition("/")[0]:
            raise _refused("a login in the address", f"one in {_USERNAME} and {_PASSWORD}")
    name = environment.get(_USERNAME, "")
    login = (name, environment.get(_PASSWORD, "")) if name else None
    return Registry(",".join(urls), login, environment.get(CA) or None)


def required(what: str) -> Registry:
    """The deployment's schema registry.

    Raises `InputError` if there is none, saying that `what` needs it.
    """
    registry = configured()
    if registry is None:
        raise InputError("no-registry", Place("environment", path=URL), "nothing", f"an address, for {what}")
    return registry


def _refused(found: str, expected: str) -> InputError:
    return InputError("bad-registry", Place("environment", path=URL), found, expected)
