"""The front end's built files, found through Vite's manifest.

https://vite.dev/guide/backend-integration.
"""

from __future__ import annotations

import json
from functools import lru_cache
from pathlib import Path
from typing import NotRequired, TypedDict

from django import template
from django.conf import settings
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

MANIFEST = Path(".vite") / "manifest.json"
ENTRY = "frontend/src/main.ts"


class Chunk(TypedDict):
    """A file of the build, as the manifest tells of it."""

    file: str
    isEntry: NotRequired[bool]
    imports: NotRequired[list[str]]
    css: NotRequired[list[str]]


Manifest = dict[str, Chunk]


@lru_cache(maxsize=2)
def _read(file: Path, modified_ns: int) -> Manifest:
    document: Manifest = json.loads(file.read_text())
    return document


def _chunk(manifest: Manifest) -> Chunk | None:
    if ENTRY in manifest:
        return manifest[ENTRY]
    # Vite writes sources relative to its own root, which is either the repository or frontend/.
    entries = [manifest[name] for name in sorted(manifest) if manifest[name].get("isEntry")]
    return entries[0] if entries else None


@register.simple_tag
def vite_entry() -> SafeString:
    """Style sheets and script of the front end; without a build, how to make one."""
    file = Path(settings.FRONTEND_DIST) / MANIFEST
    try:
        manifest = _read(file, file.stat().st_mtime_ns)
    except FileNotFoundError:
        return format_html(
            '<p class="problem" role="alert">{}</p>', "The front end is not built: run make setup."
        )
    chunk = _chunk(manifest)
    if chunk is None:
        return format_html('<p class="problem" role="alert">{}</p>', "The front end's build has no entry.")
    base = f"{settings.STATIC_URL}frontend/"
    sheets = _sheets(manifest, chunk)
    links = format_html_join("", '<link rel="stylesheet" href="{}">', ((base + sheet,) for sheet in sheets))
    script = format_html('<script type="module" src="{}"></script>', base + chunk["file"])
    return SafeString(links + script)


def _sheets(manifest: Manifest, chunk: Chunk) -> list[str]:
    """The style sheets of a chunk and of its static imports, these first, each once."""
    found: dict[str, None] = {}
    seen: set[str] = set()

    def collect(one: Chunk) -> None:
        for name in one.get("imports", ()):
            if name not in seen:
                seen.add(name)
                collect(manifest[name])
        found.update(dict.fromkeys(one.get("css", ())))

    collect(chunk)
    return list(found)


@register.filter
def to_json(value: object) -> str:
    """JSON for an attribute; the template escapes it."""
    return json.dumps(value)
