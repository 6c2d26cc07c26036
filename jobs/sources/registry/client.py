"""Ask the registry for schemas.

A number stands for one schema for ever, so what was fetched once is kept for as long as the process lives.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import httpx2
from confluent_kafka.schema_registry import SchemaRegistryClient
from confluent_kafka.schema_registry.error import SchemaRegistryError

from jobs.sources.connector import Away
from jobs.sources.registry.deployment import CA, Registry, required
from optimizer.algebra.errors import InputError, Place

_TIMEOUT_S = 10.0
"""For an answer; without one the registry counts as away."""
_TRIES = 3
"""Behind the first, before it does."""
_FIRST_WAIT_MS = 200
_AUTHORITY = "a PEM file with the authorities that the registry is trusted by"
_NO_SUBJECT, _NO_VERSION, _NO_SCHEMA = 40401, 40402, 40403
"""What registries answer for what they do not have."""

KIND_NAMES = {"AVRO": "Avro", "PROTOBUF": "Protobuf", "JSON": "JSON Schema"}


class NotThere(LookupError):
    """The registry answers, and has no such schema."""


@dataclass(frozen=True, slots=True)
class Reference:
    """A schema that another one uses."""

    name: str
    """What it is called there: an Avro name, a path that Protobuf imports."""
    subject: str
    version: int


@dataclass(frozen=True, slots=True)
class Schema:
    text: str
    """JSON, or a file of Protobuf's language."""
    kind: str
    """`AVRO`, `PROTOBUF`, `JSON`, or what else a registry may come to have."""
    references: tuple[Reference, ...] = ()
    number: int | None = None
    """In the registry; None where nobody asked for it."""


class Schemas:
    """The registry's schemas, in one process.

    Args:
        registry: where to ask.
        tries: how often to ask again before the registry counts as away.

    Raises `InputError` for a file of authorities that cannot be read.
    """

    def __init__(self, registry: Registry, tries: int = _TRIES) -> None:
        settings: dict[str, Any] = {
            "url": registry.url,
            "timeout": _TIMEOUT_S,
            "max.retries": tries,
            "retries.wait.ms": _FIRST_WAIT_MS,
        }
        if registry.login is not None:
            settings["basic.auth.user.info"] = ":".join(registry.login)
        if registry.authority is not None:
            settings["ssl.ca.location"] = registry.authority
        try:
            self._client = SchemaRegistryClient(settings)
        except OSError as error:
            # Of the file alone: nothing has been asked yet.
            found = f"{registry.authority}: {error.strerror or error}"
            raise InputError("bad-registry", Place("environment", path=CA), found, _AUTHORITY) from error
        self._numbered: dict[int, Schema] = {}
        self._versions: dict[tuple[str, int], Schema] = {}

    def numbered(self, number: int) -> Schema:
        """The schema with a number, which is always the same one.

        Raises `NotThere`, and `Away` while the registry does not answer or refuses to.
        """
        found = self._numbered.get(number)
        if found is None:
            found = _asked(lambda: self._client.get_schema(number), _NO_SCHEMA)
            self._numbered[number] = found
        return found

    def referenced(self, reference: Reference) -> Schema:
        """The schema behind a reference. Raises as `numbered`."""
        key = (reference.subject, reference.version)
        found = self._versions.get(key)
        if found is None:
            # A version that was deleted is still what the schema was registered with.
            found = _asked(lambda: self._client.get_version(*key, deleted=True), _NO_SUBJECT, _NO_VERSION)
            self._versions[key] = found
        return found

    def latest(self, subject: str) -> Schema:
        """A subject's newest schema, asked for anew. Raises as `numbered`."""
        self._client.clear_latest_caches()  # type: ignore[no-untyped-call]
        return _asked(lambda: self._client.get_latest_version(subject), _NO_SUBJECT, _NO_VERSION)


def _asked(ask: Callable[[], Any], *absent: int) -> Schema:
    try:
        return _schema(ask())
    except SchemaRegistryError as error:
        if error.error_code in absent:
            raise NotThere(error.error_message) from error
        raise Away(f"the schema registry answers {error.http_status_code}: {error.error_message}") from error
    except httpx2.TransportError as error:
        raise Away(f"the schema registry does not answer ({type(error).__name__}: {error})") from error
    except ValueError as error:
        raise Away(f"the schema registry does not answer in JSON ({error})") from error


def _schema(answer: Any) -> Schema:
    number = getattr(answer, "schema_id", None)
    schema = getattr(answer, "schema", answer)
    references = tuple(Reference(r.name, r.subject, r.version) for r in schema.references or ())
    return Schema(schema.schema_str, schema.schema_type or "AVRO", references, number)


def schemas() -> Schemas:
    """The deployment's registry, as this process sees it.

    A child that was forked makes its own client.
    """
    return _schemas(os.getpid(), required("streams whose values name their schemas"))


@cache
def _schemas(process: int, registry: Registry) -> Schemas:
    return Schemas(registry)
