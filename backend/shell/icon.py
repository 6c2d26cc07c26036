"""The browser tab's picture.

Pages of Django's admin have it too: browsers ask for it by themselves.
"""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control

SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="none" stroke="#0072b2" '
    'stroke-width="1.6" d="M1 4c4 0 4 4 7 4s3-4 7-4M1 12c4 0 4-4 7-4s3 4 7 4"/></svg>'
)


@cache_control(public=True, max_age=86_400)
def icon(request: HttpRequest) -> HttpResponse:
    return HttpResponse(SVG, content_type="image/svg+xml")
