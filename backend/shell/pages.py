"""A page is a frame around one island: an element that the front end mounts on."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.mixins import LoginRequiredMixin
from django.contrib.auth.models import AnonymousUser, User
from django.utils.decorators import method_decorator
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.generic import TemplateView

from backend.accounts.queries import is_operator, role_of
from backend.accounts.reading import Reads

Props = dict[str, str | int | list[dict[str, str]] | None]


def signed_in(account: User | AnonymousUser) -> dict[str, object]:
    """What every page is told of the account that asked for it."""
    return {
        "username": account.get_username(),
        "is_operator": is_operator(account),
        "role": role_of(account),
    }


@method_decorator(ensure_csrf_cookie, name="dispatch")
class Page(LoginRequiredMixin, TemplateView):
    """The page of one island, with its props and the signed-in account."""

    template_name = "shell/page.html"
    island = ""
    reads = Reads.EVERYBODY
    """What the page itself shows; the island asks the API for the rest."""
    title = ""
    section = ""
    """The entry of the navigation that is marked as the current one; the island's name if empty."""

    def props(self) -> Props:
        """What the island is told besides the account."""
        return {}

    def get_context_data(self, **context: Any) -> dict[str, Any]:
        # They may find the page's title.
        props = {**self.props(), "me": signed_in(self.request.user)}
        section = self.section or self.island
        return super().get_context_data(
            island=self.island, title=self.title, section=section, props=props, **context
        )
