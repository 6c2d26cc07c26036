from __future__ import annotations

from typing import Any

from allauth.account.utils import perform_login
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpResponse

from backend.environment import DEFAULT_DEMO_PASSWORD


class Login(LoginView):
    """The sign-in page; Django checks the account and where it goes next.

    It is the one page that takes passwords, and django-allauth signs in whom it finds: by a second step where
    the account has a second factor.
    """

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        # Not the session that was there before the password: its key may be known to who planted it.
        self.request.session.cycle_key()
        answer: HttpResponse = perform_login(
            self.request, form.get_user(), redirect_url=self.get_success_url()
        )
        return answer

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        """What the page says beside its form.

        The demo's account where it runs, its password if the manual has it, and the provider.
        """
        is_default = settings.MILLRACE_DEMO_PASSWORD == DEFAULT_DEMO_PASSWORD
        return super().get_context_data(
            demo=settings.MILLRACE_DEMO,
            demo_password=DEFAULT_DEMO_PASSWORD if is_default else None,
            provider=settings.MILLRACE_OIDC_NAME if settings.MILLRACE_OIDC_URL else None,
            **context,
        )
