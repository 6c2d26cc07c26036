"""A page is a frame around one island: an element that the front end mounts on."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from backend.accounts.queries import is_operator, role_of

Props = dict[str, str | int | list[dict[str, str]] | None]


def island(
    request: HttpRequest, template: str, name: str, title: str, *, section: str, props: Props | None = None
) -> HttpResponse:
    """The page `template` with island `name`, its props and the signed-in account.

    Args:
        section: the entry of the navigation that is marked as the current one.
    """
    account = request.user
    me = {
        "username": account.get_username(),
        "is_operator": is_operator(account),
        "is_staff": bool(getattr(account, "is_staff", False)),
        "role": role_of(account),
    }
    context = {"island": name, "title": title, "section": section, "props": {**(props or {}), "me": me}}
    return render(request, template, context)
