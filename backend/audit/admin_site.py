"""Django's admin site, whose pages write into the audit trail."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

from django.contrib.admin import ModelAdmin
from django.contrib.admin.sites import AdminSite
from django.contrib.auth.models import User
from django.db.models import Manager, Model, QuerySet
from django.forms import ModelChoiceField, ModelForm, ModelMultipleChoiceField
from django.http import HttpRequest

from backend.audit.actions import Subject, record
from backend.audit.changes import Changes, changed

_SECRET = re.compile("password|secret|token|digest|key|data", re.IGNORECASE)
"""Of such a field is told that it changed, and no value."""
_HIDDEN = "(hidden)"


class Recorded(ModelAdmin):  # type: ignore[type-arg]  # generic in the stubs alone
    """Pages of one model, with an entry for each record that they change.

    Pages that call what has entries of its own say `records_itself = True`; of which fields that is so,
    `recorded_elsewhere`.
    """

    def save_related(self, request: HttpRequest, form: ModelForm[Any], formsets: Any, change: bool) -> None:
        super().save_related(request, form, formsets, change)
        found = self._changes(form)
        if not change or found or any(formset.has_changed() for formset in formsets):
            self._record(request, "change" if change else "create", form.instance, found)

    def log_deletions(self, request: HttpRequest, queryset: Any) -> Any:
        # Called before they are gone.
        for one in queryset:
            self._record(request, "delete", one, {})
        return super().log_deletions(request, queryset)

    def _record(self, request: HttpRequest, verb: str, one: Model, changes: Changes) -> None:
        # Accounts have entries however they are changed (`backend.accounts.recording`).
        if not getattr(self, "records_itself", False) and not isinstance(one, User):
            kind = str(one._meta.verbose_name)
            record(request.user, verb, Subject(kind, str(one), one.pk), changes=changes)

    def _changes(self, form: ModelForm[Any]) -> Changes:
        before: dict[str, object] = {}
        after: dict[str, object] = {}
        elsewhere = getattr(self, "recorded_elsewhere", ())
        for name in form.changed_data:
            if name in elsewhere or name not in form.cleaned_data:
                continue
            if _SECRET.search(name):
                before[name], after[name] = "", _HIDDEN
                continue
            field, initial = form.fields[name], form.initial.get(name)
            if isinstance(field, ModelChoiceField) and not isinstance(field, ModelMultipleChoiceField):
                initial = field.to_python(initial)
            before[name], after[name] = _told(initial), _told(form.cleaned_data[name])
        return changed(before, after)


class RecordedSite(AdminSite):
    """Registers each model's pages as recorded ones."""

    def register(
        self, model_or_iterable: Any, admin_class: type[ModelAdmin[Any]] | None = None, **options: Any
    ) -> None:
        pages = admin_class or ModelAdmin
        recorded = type(pages.__name__, (Recorded, pages), {"__module__": pages.__module__})
        super().register(model_or_iterable, recorded, **options)


def _told(value: object) -> object:
    """A field's value as it is kept: of records what they are called."""
    if isinstance(value, Model):
        return str(value)
    if isinstance(value, Manager | QuerySet):
        value = list(value.all())
    if isinstance(value, Iterable) and not isinstance(value, str | bytes | dict):
        return sorted(str(one) for one in value)
    return value
