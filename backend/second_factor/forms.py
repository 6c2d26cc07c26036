"""What one types: a code at sign-in, and what confirms a change of the factor."""

from __future__ import annotations

import re

from allauth.mfa.base.forms import AuthenticateForm
from allauth.mfa.models import Authenticator
from django import forms
from django.contrib.auth import authenticate
from django.contrib.auth.models import User
from django.http import HttpRequest

from backend.audit.actions import Subject, record
from backend.errors import MillraceError
from backend.second_factor.codes import counter_of, spend
from backend.second_factor.queries import factor_of

WRONG = "wrong or used code; wait for the next one, or give a recovery code"
_CODE = re.compile(r"(\s*\d){6}((\s*\d){2})?\s*")
"""An app's six digits, or a recovery code's eight."""
_LONGEST = 128


class SignInForm(AuthenticateForm):  # type: ignore[misc]  # django-allauth has no types
    """The second step of signing in."""

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        self.authenticator = _spent(self.user, code)
        if self.authenticator is None:
            raise forms.ValidationError(WRONG)
        return code


class ConfirmForm(forms.Form):
    """A change that asks once more who is there: by a code, or by the password."""

    confirmation = forms.CharField(max_length=_LONGEST, strip=False)

    def __init__(self, request: HttpRequest, account: User) -> None:
        super().__init__(request.POST)
        self._request, self._account = request, account

    def clean_confirmation(self) -> str:
        text: str = self.cleaned_data["confirmation"]
        # One thing is tried, so that one wrong answer counts once.
        if factor_of(self._account) is not None and _CODE.fullmatch(text):
            if _spent(self._account, text) is None:
                raise forms.ValidationError(WRONG)
            return text
        # Counted by django-axes, as at sign-in.
        found = authenticate(self._request, username=self._account.get_username(), password=text)
        if found is None or found.pk != self._account.pk:
            raise forms.ValidationError("wrong password")
        return text


class ActivateForm(ConfirmForm):
    """A code of the new key, and the password if the account has one.

    `counter` is the time step that the code is of.
    """

    code = forms.CharField(max_length=_LONGEST)
    counter: int

    def __init__(self, request: HttpRequest, account: User, key: str) -> None:
        super().__init__(request, account)
        self._key = key
        if not account.has_usable_password():
            # The provider of sign-in said who it is.
            del self.fields["confirmation"]

    def clean_code(self) -> str:
        code: str = self.cleaned_data["code"]
        counter = counter_of(self._key, code)
        if counter is None:
            raise forms.ValidationError("this is not the code that the app shows now; is its clock right?")
        self.counter = counter
        return code


def _spent(account: User, code: str) -> Authenticator | None:
    try:
        factor = spend(account, code)
    except MillraceError as error:
        raise forms.ValidationError(str(error)) from error
    if factor is None:
        record(None, "wrong code", Subject("second factor", account.get_username(), account.pk))
    return factor
