"""From which address a request comes, when there are proxies in between.

Anybody may write X-Forwarded-For. It is read only if the connection comes from one of
MILLRACE_TRUSTED_PROXIES, from its end on, up to the first address that is none of them: what stands before
that its sender made up.
Everything that asks for an address (rates, locks on sign-in, logs) finds the answer in REMOTE_ADDR, and the
headers themselves are gone.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

Network = IPv4Network | IPv6Network
_FORWARDED = "HTTP_X_FORWARDED_FOR"
_OTHERS = ("HTTP_X_FORWARDED_PROTO", "HTTP_X_FORWARDED_HOST", "HTTP_X_FORWARDED_PORT")
_NEVER = ("HTTP_FORWARDED", "HTTP_X_REAL_IP")


@sync_and_async_middleware
def TrustedProxies(get_response: Callable[[HttpRequest], Any]) -> Callable[[HttpRequest], Any]:
    if iscoroutinefunction(get_response):

        async def told(request: HttpRequest) -> HttpResponseBase:
            _tell(request.META)
            answer: Awaitable[HttpResponseBase] = get_response(request)
            return await answer

        return told

    def told_at_once(request: HttpRequest) -> HttpResponseBase:
        _tell(request.META)
        response: HttpResponseBase = get_response(request)
        return response

    return told_at_once


def _tell(meta: dict[str, Any]) -> None:
    peer = meta.get("REMOTE_ADDR", "")
    proxies = networks(tuple(settings.MILLRACE_TRUSTED_PROXIES))
    forwarded = meta.pop(_FORWARDED, "")
    for name in _NEVER:
        meta.pop(name, None)
    if _is_among(peer, proxies):
        meta["REMOTE_ADDR"] = client_behind(peer, forwarded, proxies)
    else:
        for name in _OTHERS:
            meta.pop(name, None)


def client_behind(peer: str, forwarded: str, proxies: Sequence[Network]) -> str:
    """The address that asked the first of our proxies; `peer` is the last of them.

    >>> client_behind("10.0.0.2", "8.8.8.8, 1.1.1.1, 10.0.0.1", networks(("10.0.0.0/8",)))
    '1.1.1.1'
    """
    client = peer
    for part in reversed(forwarded.split(",")):
        found = _address(part.strip())
        if found is None:
            break
        client = str(found)
        if not _is_among(client, proxies):
            break
    return client


@lru_cache(maxsize=16)
def networks(texts: tuple[str, ...]) -> tuple[Network, ...]:
    """The networks that MILLRACE_TRUSTED_PROXIES names.

    Raises `ValueError` for what is no address and no network.
    """
    return tuple(ip_network(text) for text in texts)


def holder(request: HttpRequest) -> str:
    """The client that a rate counts for.

    An IPv4 address, or the IPv6 network of 64 bits that one customer has.
    """
    address = _address(request.META.get("REMOTE_ADDR", ""))
    if isinstance(address, IPv6Address):
        return str(ip_network((int(address) >> 64 << 64, 64))[0])
    return "0.0.0.0" if address is None else str(address)


def _address(text: str) -> IPv4Address | IPv6Address | None:
    """The IPv4 address behind the IPv6 form that a socket for both tells."""
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return (isinstance(found, IPv6Address) and found.ipv4_mapped) or found


def _is_among(text: str, proxies: Sequence[Network]) -> bool:
    address = _address(text)
    return address is not None and any(address in network for network in proxies)
