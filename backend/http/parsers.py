"""Request bodies: JSON and newline-delimited JSON, bounded in size and depth."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import IO, Any

from django.conf import settings
from rest_framework.exceptions import ParseError
from rest_framework.parsers import BaseParser

from backend.errors import TooLarge
from optimizer.algebra.functions.decimals import WrittenFloat


def _read(stream: IO[bytes]) -> bytes:
    limit = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    body = stream.read(limit + 1)
    if len(body) > limit:
        raise TooLarge("body-too-large", f"a request body holds at most {limit} bytes; send several")
    return body


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _load(text: bytes) -> object:
    # Too deep a document ends in RecursionError and a number of thousands of digits in ValueError:
    # both are the sender's fault.
    try:
        return json.loads(text, parse_constant=_refuse_constant, parse_float=WrittenFloat)
    except (ValueError, RecursionError) as error:
        raise ParseError(f"not JSON: {error}") from error


class BoundedJSONParser(BaseParser):
    """One JSON document of at most DATA_UPLOAD_MAX_MEMORY_SIZE bytes."""

    media_type = "application/json"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> Any:
        return _load(_read(stream))


class NDJSONParser(BaseParser):
    """One JSON document per line; empty lines are skipped. Yields a list."""

    media_type = "application/x-ndjson"

    def parse(
        self,
        stream: IO[bytes],
        media_type: str | None = None,
        parser_context: Mapping[str, object] | None = None,
    ) -> Any:
        documents = []
        for number, line in enumerate(_read(stream).splitlines(), start=1):
            if line.strip():
                try:
                    documents.append(_load(line))
                except ParseError as error:
                    raise ParseError(f"line {number}: {error.detail}") from error
        return documents
