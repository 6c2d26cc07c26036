"""Tell public Internet addresses from all others.

Global unicast only: no block of IANA's registries of special-purpose addresses, no multicast, and of IPv6
only 2000::/3, all that IANA gives to anybody. Python's `is_global` has a part of this, as old as the
interpreter (3.11 lets 192.0.0.192 and fec0::/10 through), so the registries are here as well, and an address
must pass both. IANA, iana-ipv4-special-registry and iana-ipv6-special-registry, October 2025.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address

_UNICAST = IPv6Network("2000::/3")
_NAT64 = IPv6Network("64:ff9b::/96")
"""RFC 6052: the last 32 bits are an IPv4 address that a gateway connects to."""

SPECIAL_4 = tuple(
    IPv4Network(block)
    for block in (
        "0.0.0.0/8",  # this network
        "10.0.0.0/8",  # private
        "100.64.0.0/10",  # shared by a provider's customers; 100.100.100.200 tells clouds' secrets
        "127.0.0.0/8",  # loopback
        "169.254.0.0/16",  # link-local; 169.254.169.254 tells clouds' secrets
        "172.16.0.0/12",  # private
        "192.0.0.0/24",  # protocols, of which .9 and .10 are the own network's; .192 tells clouds' secrets
        "192.0.2.0/24",  # documentation
        "192.31.196.0/24",  # AS112
        "192.52.193.0/24",  # AMT
        "192.88.99.0/24",  # 6to4 relays
        "192.168.0.0/16",  # private
        "192.175.48.0/24",  # AS112
        "198.18.0.0/15",  # benchmarks
        "198.51.100.0/24",  # documentation
        "203.0.113.0/24",  # documentation
        "224.0.0.0/4",  # multicast
        "240.0.0.0/4",  # reserved, and broadcast
        # Not in the registry, but in every virtual network of Azure the host's own.
        "168.63.129.16/32",
    )
)
SPECIAL_6 = tuple(
    IPv6Network(block)
    for block in (
        "::/96",  # unspecified, loopback, and IPv4-compatible
        "::ffff:0:0:0/96",  # IPv4-translated
        "64:ff9b:1::/48",  # IPv4 behind a local gateway
        "100::/64",  # discarded
        "100:0:0:1::/64",  # dummies
        "2001::/23",  # protocols: Teredo, benchmarks, AMT, AS112, ORCHID
        "2001:db8::/32",  # documentation
        "2002::/16",  # 6to4
        "2620:4f:8000::/48",  # AS112
        "3fff::/20",  # documentation
        "5f00::/16",  # segment routing
        "fc00::/7",  # private
        "fe80::/10",  # link-local
        "fec0::/10",  # site-local
        "ff00::/8",  # multicast
    )
)
_ISATAP = (0x0000_5EFE, 0x0200_5EFE)
"""RFC 5214: bits 64 to 95 of an address whose last 32 bits are an IPv4 address."""


def is_public(address: str) -> bool:
    """True for a global unicast address.

    One that holds an IPv4 address is what that one is where systems and gateways of today translate it
    (IPv4-mapped, NAT64's well-known prefix); 6to4, Teredo, ISATAP and the like are never public.

    Raises `ValueError` for what is no address.

    >>> is_public("1.1.1.1"), is_public("::ffff:10.0.0.1"), is_public("fe80::1%eth0")
    (True, False, False)
    """
    parsed = ip_address(address.partition("%")[0])
    if isinstance(parsed, IPv6Address):
        inner = parsed.ipv4_mapped
        if parsed in _NAT64:
            inner = IPv4Address(int(parsed) & 0xFFFF_FFFF)
        if inner is None:
            return _is_public_6(parsed)
        parsed = inner
    return parsed.is_global and not any(parsed in block for block in SPECIAL_4)


def _is_public_6(address: IPv6Address) -> bool:
    if int(address) >> 32 & 0xFFFF_FFFF in _ISATAP:
        return False
    return address.is_global and address in _UNICAST and not any(address in block for block in SPECIAL_6)
