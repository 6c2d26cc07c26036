"""Uvicorn's connections: `uvicorn --http backend.http.serving:Connection ...`."""

from __future__ import annotations

import asyncio
import socket
from typing import cast

from uvicorn.protocols.http.h11_impl import H11Protocol

GONE_SECONDS = 60
"""A peer that acknowledges nothing, or reads nothing of what was sent, for so long is gone."""
_PROBE_AFTER_SECONDS = 30
_PROBES = 3
"""Without an answer, after which the system closes the connection."""


class Connection(H11Protocol):
    """A connection that ends when its peer has gone without a word.

    A machine that lost its network, or a program that was stopped, sends no FIN: without this a
    stream of events to it would stay open for a quarter of an hour, or for ever.
    """

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        connected: socket.socket | None = transport.get_extra_info("socket")
        if connected is not None and connected.family in (socket.AF_INET, socket.AF_INET6):
            for level, option, value in _options():
                connected.setsockopt(level, option, value)
        super().connection_made(cast(asyncio.Transport, transport))


def _options() -> list[tuple[int, int, int]]:
    """Those that this system knows: Linux knows all of them."""
    wanted = {
        "TCP_KEEPIDLE": _PROBE_AFTER_SECONDS,
        "TCP_KEEPINTVL": (GONE_SECONDS - _PROBE_AFTER_SECONDS) // _PROBES,
        "TCP_KEEPCNT": _PROBES,
        "TCP_USER_TIMEOUT": GONE_SECONDS * 1000,
    }
    known = [(getattr(socket, name, None), value) for name, value in wanted.items()]
    options = [(socket.IPPROTO_TCP, option, value) for option, value in known if option is not None]
    return [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1), *options]
