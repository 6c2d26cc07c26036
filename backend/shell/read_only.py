"""What the admin shows and never edits."""

from __future__ import annotations

from django.contrib import admin


class ReadOnly(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """An admin page of what the product writes, not for edits: changes have actions."""

    def has_add_permission(self, request: object) -> bool:
        return False

    def has_change_permission(self, request: object, obj: object | None = None) -> bool:
        return False

    def has_delete_permission(self, request: object, obj: object | None = None) -> bool:
        return False
