"""Post webhooks to addresses that users give, but never into the own network.

The name is looked up once, every address that it has must be allowed, and the connection goes to
one of those very addresses: a name that changes its mind in between does not matter. Redirects are
not followed. OWASP, Server-Side Request Forgery Prevention Cheat Sheet.
"""

from __future__ import annotations

import hashlib
import hmac
import http.client
import socket
import ssl
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from fnmatch import fnmatchcase
from urllib.parse import urlsplit

from jobs.protocol.addresses import is_public

TIMEOUT_SECONDS = 10.0
"""Without a byte."""
DEADLINE_SECONDS = 20.0
"""For all of it: a receiver that sends a byte now and then must not keep a worker busy."""
SIGNATURE = "X-Millrace-Signature"


@dataclass(frozen=True, slots=True)
class Policy:
    """Whom this installation posts to.

    >>> policy_of({"MILLRACE_WEBHOOK_HOSTS": "*.example.org, hooks.test"}).hosts
    ('*.example.org', 'hooks.test')
    """

    hosts: tuple[str, ...] = ()
    """Names of hosts, with `*` in them; empty for all."""
    private: bool = False
    """True if addresses need not be public."""
    authorities: str = ""
    """A file of further certificate authorities (PEM)."""


def policy_of(environment: Mapping[str, str]) -> Policy:
    """What the environment says."""
    hosts = environment.get("MILLRACE_WEBHOOK_HOSTS", "").split(",")
    return Policy(
        tuple(host.strip() for host in hosts if host.strip()),
        environment.get("MILLRACE_WEBHOOK_PRIVATE") == "1",
        environment.get("MILLRACE_WEBHOOK_CA", ""),
    )


class NotAllowed(Exception):
    """The address is none that this installation posts to; trying again is in vain."""


class NotDelivered(Exception):
    """The receiver did not take the message; worth another try."""


def check(url: str, policy: Policy) -> None:
    """Raise `NotAllowed` for a URL that may not be posted to.

    One that is no http(s) URL, or whose host is not among MILLRACE_WEBHOOK_HOSTS.
    """
    if not all("!" <= character <= "~" for character in url):
        raise NotAllowed(f"found {url!r}, expected an address in ASCII: write other characters as %XX")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise NotAllowed(f"{url} is no address: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotAllowed(f"found {url}, expected an address such as https://example.org/hook")
    if parts.username is not None or parts.password is not None:
        raise NotAllowed("an address with a password in it is not allowed; messages are signed instead")
    if port == 0:
        raise NotAllowed("port 0 is none")
    if policy.hosts and not any(fnmatchcase(parts.hostname, name.lower()) for name in policy.hosts):
        raise NotAllowed(f"{parts.hostname} is not among MILLRACE_WEBHOOK_HOSTS")


def post(url: str, body: bytes, secret: str, policy: Policy, more: Mapping[str, str] | None = None) -> None:
    """Post JSON, signed: HMAC-SHA256 of the body, as GitHub does it.

    Args:
        url: of the receiver.
        body: a JSON document.
        secret: what the receiver knows the sender by.
        policy: whom this installation posts to.
        more: further headers.

    Raises `NotAllowed`, or `NotDelivered` unless the receiver answers 2xx.
    """
    check(url, policy)
    parts = urlsplit(url)
    host = str(parts.hostname)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    address = _address(host, port, policy)
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        connection = _PinnedTLS(address, host, port, TIMEOUT_SECONDS, policy)
    else:
        connection = _Pinned(address, host, port, TIMEOUT_SECONDS)
    path = f"{parts.path or '/'}{f'?{parts.query}' if parts.query else ''}"
    signature = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Millrace",
        SIGNATURE: f"sha256={signature}",
        **(more or {}),
    }
    timer = threading.Timer(DEADLINE_SECONDS, _break_off, (connection,))
    timer.start()
    try:
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        status = answer.status
    except (OSError, http.client.HTTPException) as error:
        raise NotDelivered(f"{host} does not take it: {error or type(error).__name__}") from error
    finally:
        timer.cancel()
        connection.close()
    if not 200 <= status < 300:
        raise NotDelivered(f"{host} answered {status}")


def _break_off(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is not None:
        # Not close: that would not wake the thread that waits for this socket.
        with suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _address(host: str, port: int, policy: Policy) -> str:
    """One of the host's addresses, if all of them are allowed."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        raise NotDelivered(f"{host} has no address: {error}") from error
    addresses = sorted({str(one[4][0]) for one in found})
    for address in addresses:
        if not policy.private and not is_public(address):
            raise NotAllowed(f"{host} is {address}, which is no public address")
    return addresses[0]


class _Pinned(http.client.HTTPConnection):
    """Connects to an address that was looked at, whatever its name means by now."""

    def __init__(self, address: str, host: str, port: int, timeout: float) -> None:
        super().__init__(host, port, timeout=timeout)
        self._address = address

    def connect(self) -> None:
        self.sock = socket.create_connection((self._address, self.port), self.timeout)


class _PinnedTLS(http.client.HTTPSConnection):
    def __init__(self, address: str, host: str, port: int, timeout: float, policy: Policy) -> None:
        self._tls = ssl.create_default_context()
        if policy.authorities:
            self._tls.load_verify_locations(policy.authorities)
        super().__init__(host, port, context=self._tls, timeout=timeout)
        self._address = address

    def connect(self) -> None:
        plain = socket.create_connection((self._address, self.port), self.timeout)
        # The certificate must still be the name's.
        self.sock = self._tls.wrap_socket(plain, server_hostname=self.host)
