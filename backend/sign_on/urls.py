"""The addresses of signing in by the provider.

They have the names under which django-allauth looks them up.
"""

from django.urls import path
from django.views.generic import RedirectView

from backend.accounts.pages import Login
from backend.sign_on.pages import come_back, leave

_HERE = {"provider_id": "oidc"}

urlpatterns = [
    path("login/", Login.as_view(), name="account_login"),
    path("sign-in/oidc/", leave, _HERE, name="openid_connect_login"),
    path("sign-in/oidc/callback/", come_back, _HERE, name="openid_connect_callback"),
    path(
        "sign-in/cancelled/", RedirectView.as_view(pattern_name="login"), name="socialaccount_login_cancelled"
    ),
    path("sign-in/inactive/", RedirectView.as_view(pattern_name="login"), name="account_inactive"),
]
