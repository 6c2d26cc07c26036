from __future__ import annotations

from allauth.usersessions.models import UserSession
from django.contrib.auth.validators import UnicodeUsernameValidator
from rest_framework import serializers

from backend.accounts.queries import ROLES
from backend.http.documents import Document, Form
from backend.persons.passwords import PasswordLink
from backend.persons.queries import Page, Person, Wanted
from backend.persons.sign_ins import Lock

_ROLES = [(role, role) for role in ROLES]


class PersonFilterSerializer(Form):
    """What is looked for; each that is given holds."""

    text = serializers.CharField(default="", max_length=200, help_text="words, each in name or address")
    role = serializers.ChoiceField(choices=_ROLES, required=False)
    team = serializers.CharField(max_length=63, required=False, help_text="by name")
    active = serializers.BooleanField(required=False, allow_null=True, default=None)
    after = serializers.CharField(default="", max_length=150, help_text="`next` of the page before this one")
    limit = serializers.IntegerField(min_value=1, max_value=500, default=100)

    def wanted(self) -> Wanted:
        """As the form asks."""
        paging = ("after", "limit")
        return Wanted(**{name: value for name, value in self.validated_data.items() if name not in paging})


class PersonSerializer(serializers.Serializer[Person]):
    """An account of a person."""

    id = serializers.IntegerField(source="account.pk")
    username = serializers.CharField(source="account.username")
    email = serializers.CharField(source="account.email")
    role = serializers.ChoiceField(choices=_ROLES, help_text="that it has while it is active")
    is_active = serializers.BooleanField(source="account.is_active", help_text="whether it may sign in")
    teams = serializers.ListField(child=serializers.CharField())
    has_second_factor = serializers.BooleanField()
    by_provider = serializers.BooleanField(help_text="signs in by the provider, without a password")
    joined_at = serializers.DateTimeField(source="account.date_joined")
    signed_in_at = serializers.DateTimeField(source="account.last_login", allow_null=True)


class PersonPageSerializer(serializers.Serializer[Page]):
    persons = PersonSerializer(many=True, help_text="by name")
    next = serializers.CharField(allow_null=True, help_text="`after` of the next page; null: no more")


class PasswordLinkSerializer(serializers.Serializer[PasswordLink]):
    path = serializers.CharField(help_text="of the page, on this site; good once")
    valid_until = serializers.DateTimeField()


class NewPersonSerializer(Document):
    person = PersonSerializer()
    link = PasswordLinkSerializer(help_text="by which its owner chooses a password")


class PersonWriteSerializer(Form):
    username = serializers.CharField(max_length=150, validators=[UnicodeUsernameValidator()])
    email = serializers.EmailField(default="", allow_blank=True, max_length=254)
    role = serializers.ChoiceField(choices=_ROLES, default="author")


class PersonChangeSerializer(Form):
    """What is left out stays."""

    email = serializers.EmailField(required=False, allow_blank=True, max_length=254)
    role = serializers.ChoiceField(choices=_ROLES, required=False)
    is_active = serializers.BooleanField(required=False)


class SessionSerializer(serializers.Serializer[UserSession]):
    """A browser that is signed in."""

    address = serializers.CharField(source="ip")
    browser = serializers.CharField(source="user_agent", help_text="as it calls itself")
    since = serializers.DateTimeField(source="created_at")


class LockSerializer(serializers.Serializer[Lock]):
    """An address from which too many passwords were wrong."""

    address = serializers.CharField()
    until = serializers.DateTimeField(help_text="from when on it may try again")


class SignInsSerializer(Document):
    sessions = SessionSerializer(many=True, help_text="newest first")
    locks = LockSerializer(many=True)
