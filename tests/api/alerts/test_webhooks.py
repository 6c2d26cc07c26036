"""Webhooks reach their receiver, and nothing else."""

from __future__ import annotations

import hashlib
import hmac
import socket
import threading
from pathlib import Path

import pytest
import trustme
from pytest_django import Settings

from backend.alerts import webhooks
from jobs.protocol import webhooks as protocol
from tests.api.alerts.conftest import Receiver


def test_a_message_is_signed(receiver: Receiver) -> None:
    webhooks.post(receiver.url, b'{"a": 1}', "secret")
    assert receiver.documents == [{"a": 1}]
    expected = hmac.new(b"secret", b'{"a": 1}', hashlib.sha256).hexdigest()
    assert receiver.headers[0][protocol.SIGNATURE] == f"sha256={expected}"


@pytest.mark.parametrize("status", [302, 404, 500])
def test_only_2xx_is_delivered_and_no_redirect_is_followed(receiver: Receiver, status: int) -> None:
    receiver.status = status
    with pytest.raises(protocol.NotDelivered, match=str(status)):
        webhooks.post(receiver.url, b"{}", "secret")
    assert len(receiver.bodies) == 1


@pytest.mark.parametrize(
    "address",
    [
        "127.0.0.1",
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "0.0.0.0",
        "100.64.0.1",
        "224.0.0.1",
        "::1",
        "fe80::1",
        "fc00::1",
        "::ffff:127.0.0.1",
        "2002:7f00:1::",
        "64:ff9b::7f00:1",
    ],
)
def test_private_addresses_are_refused(address: str, receiver: Receiver, settings: Settings) -> None:
    settings.MILLRACE_WEBHOOK_PRIVATE = False
    host = f"[{address}]" if ":" in address else address
    with pytest.raises(protocol.NotAllowed, match="no public address"):
        webhooks.post(f"http://{host}:9/", b"{}", "secret")
    for spelling in ("localhost", "127.1", "2130706433", "0x7f.1"):
        with pytest.raises((protocol.NotAllowed, protocol.NotDelivered)):
            webhooks.post(receiver.url.replace("127.0.0.1", spelling), b"{}", "secret")
    assert receiver.bodies == []


def test_one_private_address_among_public_ones_is_enough(
    receiver: Receiver, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MILLRACE_WEBHOOK_PRIVATE = False
    found = [
        (socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, 80)) for address in ("1.1.1.1", "127.0.0.1")
    ]
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_, **__: found)
    with pytest.raises(protocol.NotAllowed, match=r"127\.0\.0\.1"):
        webhooks.post(receiver.url.replace("127.0.0.1", "example.org"), b"{}", "secret")


def test_the_connection_goes_to_the_address_that_was_looked_at(
    receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    port = int(receiver.url.split(":")[2].split("/")[0])
    looked_up = []

    def answer(host: str, *_: object, **__: object) -> list[object]:
        looked_up.append(host)
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", port))]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    webhooks.post(f"http://hook.test:{port}/", b"{}", "secret")
    assert receiver.headers[0]["Host"] == f"hook.test:{port}"
    assert looked_up.count("hook.test") == 1


def test_hosts_can_be_listed(settings: Settings) -> None:
    settings.MILLRACE_WEBHOOK_HOSTS = ["*.example.org", "hooks.example.com"]
    for url in ("https://a.example.org/x", "https://HOOKS.example.com"):
        webhooks.check(url)
    for url in (
        "https://example.org",
        "https://a.example.org.evil.test",
        "https://hooks.example.com.evil.test",
    ):
        with pytest.raises(protocol.NotAllowed, match="MILLRACE_WEBHOOK_HOSTS"):
            webhooks.check(url)


NO_ADDRESS = ("ftp://a.org", "file:///etc/passwd", "https://", "a.org", "https://me:pw@a.org")
NO_ASCII = ("https://a.org/höhe", "https://exämple.org/", "https://a.org/a b", "https://a.org/\r\nX: y")


@pytest.mark.parametrize("url", [*NO_ADDRESS, *NO_ASCII, "http://a.org:x", "http://[", "http://a.org:0"])
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(protocol.NotAllowed):
        webhooks.check(url)


def test_a_receiver_over_tls_is_trusted_if_its_authority_is(
    secure_receiver: Receiver, authority: trustme.CA, settings: Settings, tmp_path: Path
) -> None:
    with pytest.raises(protocol.NotDelivered, match="certificate verify failed"):
        webhooks.post(secure_receiver.url, b"{}", "secret")
    bundle = tmp_path / "authorities.pem"
    authority.cert_pem.write_to_path(bundle)
    settings.MILLRACE_WEBHOOK_CA = str(bundle)
    webhooks.post(secure_receiver.url, b'{"a": 1}', "secret")
    assert secure_receiver.documents == [{"a": 1}]
    # The certificate is for localhost, not for whoever else has that address.
    with pytest.raises(protocol.NotDelivered, match="certificate verify failed"):
        webhooks.post(secure_receiver.url.replace("localhost", "127.0.0.1"), b"{}", "secret")
    assert len(secure_receiver.bodies) == 1


def test_a_receiver_that_drips_is_broken_off(monkeypatch: pytest.MonkeyPatch, settings: Settings) -> None:
    """Each byte comes in time, the answer never does."""
    settings.MILLRACE_WEBHOOK_PRIVATE = True
    monkeypatch.setattr(protocol, "DEADLINE_SECONDS", 0.3)
    left = threading.Event()

    def drip() -> None:
        with listener.accept()[0] as client:
            client.recv(65536)
            while not left.wait(0.05):
                try:
                    client.sendall(b"H")
                except OSError:
                    return

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip)
        thread.start()
        try:
            with pytest.raises(protocol.NotDelivered):
                webhooks.post(f"http://127.0.0.1:{listener.getsockname()[1]}/", b"{}", "secret")
        finally:
            left.set()
            thread.join()
