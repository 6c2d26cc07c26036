"""Admin pages that show, to those who read everything, and never edit."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from backend.accounts.reading import reads_everything


class OfTeams(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """An admin page of what teams have.

    It shows all of it, so it is for those who read everything.
    """

    def has_module_permission(self, request: HttpRequest) -> bool:
        return super().has_module_permission(request) and reads_everything(request.user)

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return super().has_view_permission(request, obj) and reads_everything(request.user)

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return super().has_change_permission(request, obj) and reads_everything(request.user)

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return super().has_delete_permission(request, obj) and reads_everything(request.user)


class ReadOnly(OfTeams):
    """An admin page of what the product writes, not for edits: changes have actions."""

    def has_add_permission(self, request: object) -> bool:
        return False

    def has_change_permission(self, request: object, obj: object | None = None) -> bool:
        return False

    def has_delete_permission(self, request: object, obj: object | None = None) -> bool:
        return False
