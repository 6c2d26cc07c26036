from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from backend.accounts.queries import role_of
from backend.accounts.reading import Reads
from backend.shell.pages import Page


class AuditPage(Page):
    """The page of the audit trail, for admins."""

    reads = Reads.ADMIN
    island = "audit"
    title = "Audit"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and role_of(request.user) != "admin":
            raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)
