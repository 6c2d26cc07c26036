from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.models import User
from django.db.models import ManyToManyField
from django.forms import ModelForm, ModelMultipleChoiceField
from django.http import HttpRequest

from backend.accounts.models import Quota, Team


@admin.register(Team)
class TeamAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """Teams and the persons in them.

    A service account stays in its team, and comes into no other.
    """

    list_display = ("name",)
    filter_horizontal = ("members",)
    recorded_elsewhere = ("members",)

    def formfield_for_manytomany(
        self, db_field: ManyToManyField[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelMultipleChoiceField[Any] | None:
        kwargs["queryset"] = User.objects.filter(service_account=None)
        return super().formfield_for_manytomany(db_field, request, **kwargs)

    def save_related(self, request: HttpRequest, form: ModelForm[Team], formsets: Any, change: bool) -> None:
        # The form names persons alone, and takes out whom it does not name.
        stays = User.objects.filter(service_account__team=form.instance.pk)
        form.cleaned_data["members"] = [*form.cleaned_data["members"], *stays]
        super().save_related(request, form, formsets, change)


@admin.register(Quota)
class QuotaAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    list_display = ("__str__", "topologies", "streams", "queries", "versions", "alerts", "tokens")
