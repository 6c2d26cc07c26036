"""Every special-purpose block of IANA's registries, and every way of writing an address in another one."""

from __future__ import annotations

import socket
from ipaddress import IPv4Address, IPv6Address, ip_network

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django import Settings

from backend.alerts import webhooks
from jobs.protocol import webhooks as protocol
from jobs.protocol.addresses import is_public

# IANA's names, as its registries have them; written anew here, so that a slip in the product's list shows.
REGISTRY = {
    "this network": "0.0.0.0/8",
    "private 10": "10.0.0.0/8",
    "shared address space": "100.64.0.0/10",
    "loopback": "127.0.0.0/8",
    "link local": "169.254.0.0/16",
    "private 172": "172.16.0.0/12",
    "IETF protocols": "192.0.0.0/24",
    "IPv4 service continuity": "192.0.0.0/29",
    "IPv4 dummy": "192.0.0.8/32",
    "port control protocol": "192.0.0.9/32",
    "TURN": "192.0.0.10/32",
    "NAT64 discovery": "192.0.0.170/31",
    "TEST-NET-1": "192.0.2.0/24",
    "AS112-v4": "192.31.196.0/24",
    "AMT": "192.52.193.0/24",
    "6to4 relay": "192.88.99.0/24",
    "6a44 relay": "192.88.99.2/32",
    "private 192": "192.168.0.0/16",
    "direct delegation AS112": "192.175.48.0/24",
    "benchmarking": "198.18.0.0/15",
    "TEST-NET-2": "198.51.100.0/24",
    "TEST-NET-3": "203.0.113.0/24",
    "multicast": "224.0.0.0/4",
    "reserved": "240.0.0.0/4",
    "limited broadcast": "255.255.255.255/32",
    "loopback 6": "::1/128",
    "unspecified 6": "::/128",
    "IPv4-compatible": "::/96",
    "IPv4-translated": "::ffff:0:0:0/96",
    "local NAT64": "64:ff9b:1::/48",
    "discard only": "100::/64",
    "dummy 6": "100:0:0:1::/64",
    "IETF protocols 6": "2001::/23",
    "TEREDO": "2001::/32",
    "PCP anycast 6": "2001:1::1/128",
    "TURN anycast 6": "2001:1::2/128",
    "DNS-SD anycast 6": "2001:1::3/128",
    "benchmarking 6": "2001:2::/48",
    "AMT 6": "2001:3::/32",
    "AS112-v6": "2001:4:112::/48",
    "ORCHID": "2001:10::/28",
    "ORCHIDv2": "2001:20::/28",
    "drone ids": "2001:30::/28",
    "documentation 6": "2001:db8::/32",
    "6to4": "2002::/16",
    "AS112-v6 delegated": "2620:4f:8000::/48",
    "documentation 6, long": "3fff::/20",
    "segment routing": "5f00::/16",
    "unique local": "fc00::/7",
    "link local 6": "fe80::/10",
    "site local": "fec0::/10",
    "multicast 6": "ff00::/8",
}
METADATA = {
    "AWS, Azure, Google, Oracle, OpenStack": "169.254.169.254",
    "AWS 6": "fd00:ec2::254",
    "Google 6": "fd20:ce::254",
    "AWS tasks": "169.254.170.2",
    "Oracle": "192.0.0.192",
    "Alibaba": "100.100.100.200",
    "Azure's host": "168.63.129.16",
}
INNER = ("127.0.0.1", "10.1.2.3", "169.254.169.254", "192.0.0.192")
PUBLIC = ("1.1.1.1", "8.8.8.8", "192.0.1.1", "172.32.0.1", "100.128.0.1", "2606:4700::1111", "2a00:1450::1")


@pytest.mark.parametrize("block", REGISTRY.values(), ids=REGISTRY)
def test_no_special_purpose_block_is_public(block: str) -> None:
    network = ip_network(block)
    for address in (network[0], network[network.num_addresses // 2], network[-1]):
        assert not is_public(str(address)), address


@pytest.mark.parametrize("address", METADATA.values(), ids=METADATA)
def test_no_clouds_secrets(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize("address", PUBLIC)
def test_global_unicast_is_public(address: str) -> None:
    assert is_public(address)


def _dressed(inner: IPv4Address) -> dict[str, IPv6Address]:
    """The address in every IPv6 form that holds one."""
    low = int(inner)
    return {
        "compatible": IPv6Address(low),
        "mapped": IPv6Address(0xFFFF << 32 | low),
        "translated": IPv6Address(0xFFFF << 48 | low),
        "NAT64": IPv6Address(int(IPv6Address("64:ff9b::")) | low),
        "local NAT64": IPv6Address(int(IPv6Address("64:ff9b:1::")) | low),
        "6to4": IPv6Address(0x2002 << 112 | low << 80),
        "Teredo": IPv6Address(0x2001_0000 << 96 | (low ^ 0xFFFF_FFFF)),
        "Teredo server": IPv6Address(0x2001_0000 << 96 | low << 64),
        "ISATAP": IPv6Address(int(IPv6Address("2606:4700::5efe:0:0")) | low),
        "ISATAP, global": IPv6Address(int(IPv6Address("2606:4700::200:5efe:0:0")) | low),
    }


@pytest.mark.parametrize("inner", INNER)
def test_no_form_of_an_inner_address_is_public(inner: str) -> None:
    for name, address in _dressed(IPv4Address(inner)).items():
        assert not is_public(str(address)), name


def test_what_is_translated_today_stays_public() -> None:
    forms = _dressed(IPv4Address("1.1.1.1"))
    assert is_public(str(forms["mapped"]))
    assert is_public(str(forms["NAT64"]))


@given(st.ip_addresses())
def test_python_never_knows_better(address: IPv4Address | IPv6Address) -> None:
    """What any interpreter's list calls local or special is not public, nor is anything outside 2000::/3."""
    if is_public(str(address)):
        inner = address.ipv4_mapped if isinstance(address, IPv6Address) else None
        assert (inner or address).is_global or address in ip_network("64:ff9b::/96")
        assert not (inner or address).is_multicast


LITERALS = (
    *(
        "127.0.0.1",
        "127.1",
        "127.0.1",
        "0177.0.0.1",
        "0x7f.0.0.1",
        "0x7f000001",
        "2130706433",
        "017700000001",
    ),
    *("localhost", "localhost.", "LOCALHOST", "0", "0.0.0.0", "127.0.0.1."),
    *("[::1]", "[::]", "[::127.0.0.1]", "[::ffff:127.0.0.1]", "[::ffff:0:127.0.0.1]", "[64:ff9b::7f00:1]"),
    *("[64:ff9b:1::7f00:1]", "[fec0::1]", "[fe80::1%25lo]", "[fe80::1%lo]", "[2002:7f00:1::]", "192.0.0.192"),
    *("①②⑦.0.0.1", "127。0。0。1", "[::1%25]", "%31%32%37.0.0.1", "xn--0.0.0.1"),
)


@pytest.mark.parametrize("host", LITERALS)
def test_no_way_of_writing_it_gets_through(host: str, settings: Settings) -> None:
    settings.MILLRACE_WEBHOOK_PRIVATE = False
    with socket.create_server(("", 0), family=socket.AF_INET6, dualstack_ipv6=True) as listener:
        listener.settimeout(0.05)
        port = listener.getsockname()[1]
        with pytest.raises((protocol.NotAllowed, protocol.NotDelivered)) as refused:
            webhooks.post(f"http://{host}:{port}/", b"{}", "secret")
        assert "does not take it" not in str(refused.value)
        with pytest.raises(TimeoutError):
            listener.accept()


@pytest.mark.parametrize("inner", ["::127.0.0.1", "fec0::1", "192.0.0.192", "fe80::1%eth0"])
def test_a_name_is_as_private_as_its_most_private_address(
    inner: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings.MILLRACE_WEBHOOK_PRIVATE = False

    def answer(*_: object, **__: object) -> list[object]:
        return [
            (socket.AF_INET6, socket.SOCK_STREAM, 6, "", (one, 80, 0, 0)) for one in ("2606:4700::1", inner)
        ]

    monkeypatch.setattr(socket, "getaddrinfo", answer)
    with pytest.raises(protocol.NotAllowed, match="no public address"):
        webhooks.post("http://example.org/", b"{}", "secret")


def test_what_is_no_address_is_not_taken_for_one() -> None:
    for text in ("", "example.org", "1.2.3", "::g", "%eth0"):
        with pytest.raises(ValueError, match="does not appear"):
            is_public(text)
