from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from backend.accounts.queries import role_of
from backend.second_factor.actions import reset

# The library's own page shows and edits secrets.
admin.site.unregister(Authenticator)


@admin.register(Authenticator)
class SecondFactorAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """The accounts with a factor; deleting one resets it."""

    records_itself = True
    list_display = ("user", "created_at", "last_used_at")
    fields = ("user", "created_at", "last_used_at")
    search_fields = ("user__username",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Authenticator]:
        found: QuerySet[Authenticator] = super().get_queryset(request).filter(type=Authenticator.Type.TOTP)
        return found

    def has_module_permission(self, request: HttpRequest) -> bool:
        return role_of(request.user) == "admin"

    def has_view_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return role_of(request.user) == "admin"

    def has_delete_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return role_of(request.user) == "admin"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object | None = None) -> bool:
        return False

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        reset(request.user, obj.user)  # type: ignore[arg-type]  # the admin's pages are for accounts

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Authenticator]) -> None:
        for one in queryset:
            self.delete_model(request, one)
