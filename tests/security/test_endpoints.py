"""Every line of the URLconf: without an account it answers nothing, except the ones listed here."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver
from django.urls.resolvers import RoutePattern

OPEN = {
    "login/": "where one signs in",
    "sign-in/oidc/": "leads to the provider, if there is one",
    "sign-in/oidc/callback/": "and back",
    "sign-in/cancelled/": "leads to where one signs in",
    "sign-in/inactive/": "and so does this",
    "logout/": "ends a session, by POST only",
    "favicon.ico": "the picture of the tab",
    "healthz": "says whether database and Redis answer",
    "readyz": "and whether migrations are missing",
    "api/schema/": "the API's description, the same in every installation",
    "api/docs/": "and its page",
    "login/code/": "the second step, for who gave a password",
}
EXAMPLES = {"pk": "1", "name": "flights", "run": "0123456789abcdef"}
METHODS = ("get", "post", "put", "patch", "delete")


def routes(resolver: URLResolver, prefix: str = "") -> Iterator[tuple[str, str]]:
    """Each route, and a path that matches it."""
    for one in resolver.url_patterns:
        if isinstance(one, URLResolver):
            yield from routes(one, prefix + str(one.pattern))
        elif isinstance(one, URLPattern) and isinstance(one.pattern, RoutePattern):
            route = prefix + str(one.pattern)
            path = route
            for name, converter in one.pattern.converters.items():
                kind = "run" if type(converter).__name__ == "RunConverter" else name
                example = EXAMPLES.get(kind, "1")
                start = path.index("<")
                path = path[:start] + example + path[path.index(">", start) + 1 :]
            yield route, "/" + path


ROUTES = sorted(routes(get_resolver()))


def test_the_walk_finds_the_api() -> None:
    found = {route for route, _ in ROUTES}
    assert {"api/queries/", "api/topologies/<name:name>/events/", "queries/<key:pk>/", "metrics"} <= found
    assert set(OPEN) <= found


@pytest.mark.django_db
@pytest.mark.parametrize(("route", "path"), [pair for pair in ROUTES if pair[0] not in OPEN])
def test_nobody_gets_in_without_an_account(route: str, path: str, anonymous: Client) -> None:
    for method in METHODS:
        answer = getattr(anonymous, method)(path)
        if answer.status_code in (301, 302):
            assert "/login/" in answer["Location"] or answer["Location"].startswith(path), (method, route)
        else:
            assert answer.status_code in (401, 403, 404, 405), (method, route, answer.status_code)
            assert answer.status_code != 404 or route.startswith("password/"), (method, route)


@pytest.mark.django_db
def test_the_open_ones_show_no_data(anonymous: Client, query: object) -> None:
    for route in sorted(OPEN):
        answer = anonymous.get("/" + route)
        assert answer.status_code in (200, 302, 405), route
        assert b"windy" not in answer.content, route
