"""The API's description, kept per process, as generating it takes a second."""

from __future__ import annotations

import hashlib
import threading

from django.http import HttpResponse
from django.utils.cache import get_conditional_response
from django.utils.encoding import force_bytes
from drf_spectacular.utils import extend_schema
from drf_spectacular.views import SpectacularAPIView, SpectacularSwaggerSplitView
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

_MAX_AGE_SECONDS = 300
"""It changes with a release only."""


class Schema(SpectacularAPIView):
    """OpenAPI 3, as YAML or JSON."""

    @extend_schema(exclude=True)
    def get(self, request: Request, *_: object, **__: object) -> HttpResponse:
        renderer: BaseRenderer = request.accepted_renderer
        body, tag = self._document(renderer)
        kind = f"{renderer.media_type}; charset=utf-8"
        headers = {"ETag": tag, "Cache-Control": f"private, max-age={_MAX_AGE_SECONDS}", "Vary": "Accept"}
        name = f'inline; filename="Millrace.{renderer.format}"'
        whole = HttpResponse(body, content_type=kind, headers={**headers, "Content-Disposition": name})
        found = get_conditional_response(request._request, etag=tag, response=whole)
        return whole if found is None else found

    def _document(self, renderer: BaseRenderer) -> tuple[bytes, str]:
        kind = str(renderer.media_type)
        with _GENERATING:
            if kind not in _DOCUMENTS:
                # Not the request's: it is everybody's document.
                generator = self.generator_class()
                document = generator.get_schema(request=None, public=True)  # type: ignore[no-untyped-call]  # has no types
                body = force_bytes(renderer.render(document, kind, {}))
                _DOCUMENTS[kind] = (body, f'"{hashlib.sha256(body).hexdigest()[:32]}"')
            return _DOCUMENTS[kind]


class Docs(SpectacularSwaggerSplitView):
    """The page about it. It has no template for what OPTIONS would say."""

    http_method_names = ["get", "head"]  # noqa: RUF012  (as Django declares it)


_DOCUMENTS: dict[str, tuple[bytes, str]] = {}
_GENERATING = threading.Lock()
