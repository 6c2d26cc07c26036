"""The page of accounts, and the page of choosing a password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.forms import SetPasswordForm
from django.contrib.auth.models import User
from django.contrib.auth.views import PasswordResetConfirmView
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse_lazy

from backend.accounts.queries import is_operator
from backend.accounts.reading import Reads
from backend.audit.origin import Through, coming
from backend.shell.pages import Page


class AccountsPage(Page):
    """Accounts and their quotas, for operators; admins change the rest, too."""

    reads = Reads.OPERATOR
    island = "accounts"
    title = "Accounts"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.user.is_authenticated and not is_operator(request.user):
            raise PermissionDenied
        return super().dispatch(request, *args, **kwargs)


class ChoosePassword(PasswordResetConfirmView):
    """Where a link leads that an admin has made (`backend.persons.passwords`)."""

    template_name = "persons/choose_password.html"
    success_url = reverse_lazy("login")

    def get_user(self, uidb64: str) -> User | None:
        account: User | None = super().get_user(uidb64)
        return account if account is not None and account.is_active else None

    def render_to_response(self, context: dict[str, Any], **answer: Any) -> HttpResponse:
        return super().render_to_response(context, **answer, status=200 if self.validlink else 404)

    def form_valid(self, form: SetPasswordForm[User]) -> HttpResponse:
        with coming(Through.PAGE, account=form.user):
            return super().form_valid(form)
