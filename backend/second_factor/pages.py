"""The second step of signing in, and the page on which an account gets its factor."""

from __future__ import annotations

from base64 import b64encode
from typing import Any
from urllib.parse import quote

from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.views import AuthenticateView
from allauth.mfa.totp.internal.auth import generate_totp_secret
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.forms import Form
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache

from backend.accounts.reading import Reads
from backend.errors import Conflict
from backend.second_factor import actions
from backend.second_factor.forms import ActivateForm, ConfirmForm, SignInForm
from backend.second_factor.queries import PROVEN, factor_of, is_required_of, recovery_codes_left
from backend.shell.pages import signed_in

_KEY = "second_factor_key"
"""The entry of a session with the key that its account has not proven yet."""


class SignInCode(AuthenticateView):  # type: ignore[misc]  # django-allauth has no types
    """Asks for a code once the password, or the provider, has said who it is."""

    template_name = "second_factor/code.html"
    form_class = SignInForm

    def form_valid(self, form: SignInForm) -> HttpResponse:
        account: User = self.stage.login.user
        answer: HttpResponse = super().form_valid(form)
        factor = factor_of(account)
        # After signing in, which empties a session that was somebody else's.
        if factor is not None and self.request.user.pk == account.pk:
            self.request.session[PROVEN] = factor.pk
        return answer


@method_decorator(never_cache, name="dispatch")
class AccountSecurity(View):
    """Activate, renew recovery codes, deactivate: each asks once more who is there."""

    reads = Reads.OWN
    http_method_names = ["get", "head", "post"]  # noqa: RUF012  (as Django declares it)

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        return super().dispatch(request, *args, **kwargs)

    def get(self, request: HttpRequest) -> HttpResponse:
        return self._page(request, request.user)  # type: ignore[arg-type]  # never anonymous here

    def post(self, request: HttpRequest) -> HttpResponse:
        account: User = request.user  # type: ignore[assignment]  # never anonymous here
        if request.POST.get("change") == "activate":
            return self._activate(request, account)
        form = ConfirmForm(request, account)
        if factor_of(account) is None:
            return redirect("account-security")
        if not form.is_valid():
            return self._page(request, account, form)
        if request.POST.get("change") == "renew":
            return self._codes(request, actions.renew_recovery_codes(account))
        actions.deactivate(account)
        return redirect("account-security")

    def _activate(self, request: HttpRequest, account: User) -> HttpResponse:
        key = request.session.get(_KEY)
        if key is None or factor_of(account) is not None:
            return redirect("account-security")
        form = ActivateForm(request, account, key)
        if not form.is_valid():
            return self._page(request, account, form)
        try:
            factor, codes = actions.activate(account, key, form.counter)
        except Conflict:
            # By another page of the same account at this moment: this one shows that.
            return redirect("account-security")
        del request.session[_KEY]
        request.session[PROVEN] = factor.pk
        return self._codes(request, codes)

    def _page(self, request: HttpRequest, account: User, form: Form | None = None) -> HttpResponse:
        factor = factor_of(account)
        about: dict[str, object] = {"factor": factor, "form": form, "change": request.POST.get("change")}
        if factor is not None:
            about |= {"left": recovery_codes_left(account)}
        else:
            key = request.session.setdefault(_KEY, generate_totp_secret())
            adapter = get_adapter()
            picture = adapter.build_totp_svg(adapter.build_totp_url(account, key))
            about |= {
                "key": " ".join(key[at : at + 4] for at in range(0, len(key), 4)),
                "picture": f"data:image/svg+xml;base64,{b64encode(picture.encode()).decode()}",
                "asks_password": account.has_usable_password(),
            }
        return self._answer(request, account, about)

    def _codes(self, request: HttpRequest, codes: list[str]) -> HttpResponse:
        text = f"Recovery codes of {request.user} at Millrace\n\n" + "\n".join(codes) + "\n"
        about = {"codes": codes, "file": f"data:text/plain;charset=utf-8,{quote(text)}"}
        return self._answer(request, request.user, about)  # type: ignore[arg-type]  # never anonymous here

    def _answer(self, request: HttpRequest, account: User, about: dict[str, object]) -> HttpResponse:
        frame = {
            "title": "Account security",
            "section": "security",
            "props": {"me": signed_in(account)},
            "locked": is_required_of(account) and factor_of(account) is None,
        }
        return render(request, "second_factor/security.html", {**frame, **about})
