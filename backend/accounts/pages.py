from __future__ import annotations

from django.contrib.auth.views import LoginView


class Login(LoginView):
    """The sign-in page; Django checks the account and where it goes next."""

    template_name = "accounts/login.html"
    redirect_authenticated_user = True
