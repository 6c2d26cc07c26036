"""What Millrace decides of a sign-in by the provider.

django-allauth does the rest.
"""

from __future__ import annotations

from typing import Any

from allauth.account.adapter import DefaultAccountAdapter
from allauth.socialaccount.adapter import DefaultSocialAccountAdapter
from allauth.socialaccount.models import SocialLogin
from django.contrib.auth.models import User
from django.http import HttpRequest

from backend.sign_on.groups import refuse_service_accounts, refuse_unreadable


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # django-allauth has no types
    """Leaves no messages: pages here show none."""

    def add_message(self, *_: object, **__: object) -> None:
        pass


class Adapter(DefaultSocialAccountAdapter):  # type: ignore[misc]  # django-allauth has no types
    """An account per subject of the provider, made when it first comes.

    Neither a name nor an e-mail address links it to an account that is there: whoever may choose these at the
    provider would get that account.
    """

    def pre_social_login(self, request: HttpRequest, sociallogin: SocialLogin) -> None:
        refuse_service_accounts(request, sociallogin)
        refuse_unreadable(request, sociallogin)

    def populate_user(self, request: HttpRequest, sociallogin: SocialLogin, data: dict[str, Any]) -> User:
        """Take the name alone, made unique where an account has it.

        Mail goes where alerts say.
        """
        user: User = sociallogin.user
        user.username = str(data.get("username") or sociallogin.account.uid)
        return user
