from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.views import LoginView

from backend.environment import DEFAULT_DEMO_PASSWORD


class Login(LoginView):
    """The sign-in page; Django checks the account and where it goes next."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True

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
