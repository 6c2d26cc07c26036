"""The addresses of the second factor.

django-allauth looks the step of signing in up by its name.
"""

from django.urls import path

from backend.second_factor.pages import AccountSecurity, SignInCode

urlpatterns = [
    path("login/code/", SignInCode.as_view(), name="mfa_authenticate"),
    path("account/security/", AccountSecurity.as_view(), name="account-security"),
]
