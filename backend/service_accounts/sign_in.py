"""Sign-in by password and by session, which service accounts have no part in."""

from __future__ import annotations

from typing import Any

from asgiref.sync import sync_to_async
from django.contrib.auth.backends import ModelBackend
from django.contrib.auth.models import AnonymousUser, User

from backend.accounts.queries import is_service


class PersonBackend(ModelBackend):
    """Django's passwords and sessions, of accounts that are persons.

    A service account is refused whatever became of it: with a password that a command gave it, and in a
    session that was signed in past this.
    """

    def user_can_authenticate(self, user: User | AnonymousUser | None) -> bool:
        return super().user_can_authenticate(user) and not (isinstance(user, User) and is_service(user))

    def get_user(self, user_id: Any) -> User | None:
        # In the query that every request of a session makes anyway.
        user = User.objects.select_related("service_account").filter(pk=user_id).first()
        return user if self.user_can_authenticate(user) else None

    async def aget_user(self, user_id: Any) -> User | None:
        return await sync_to_async(self.get_user)(user_id)
