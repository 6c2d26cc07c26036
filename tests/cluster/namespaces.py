"""Hosts on one machine: network namespaces joined by a bridge, each with an address of its own."""

from __future__ import annotations

import os
import secrets
import subprocess
from pathlib import Path
from types import TracebackType

from tests.cluster.standalone import Standalone

_NETWORK = "10.213.77"
"""A private network that the machine is not likely to be in; where it is, `ip` refuses."""


class Unavailable(Exception):
    """Why there are no network namespaces on this machine."""


class Namespaces:
    """A bridge, whose address is this machine's, and namespaces that reach it and each other.

    Raises:
        Unavailable: on entering, where they cannot be made; needs root and the program `ip`.
    """

    def __init__(self, hosts: int) -> None:
        self._hosts = hosts
        self._id = secrets.token_hex(2)

    @property
    def bridge(self) -> str:
        return f"mr{self._id}"

    @property
    def address(self) -> str:
        return f"{_NETWORK}.1"

    def name(self, host: int) -> str:
        return f"millrace-{self._id}-{host}"

    def address_of(self, host: int) -> str:
        return f"{_NETWORK}.{host + 2}"

    def cut(self, host: int) -> None:
        """Pull a host's cable: it goes on, and nobody hears it any more."""
        _ip("link", "set", self._cable(host), "down")

    def __enter__(self) -> Namespaces:
        if os.geteuid() != 0:
            raise Unavailable("network namespaces need root")
        try:
            _ip("link", "add", self.bridge, "type", "bridge")
            _ip("addr", "add", f"{self.address}/24", "dev", self.bridge)
            _ip("link", "set", self.bridge, "up")
            for host in range(self._hosts):
                self._make(host)
        except (OSError, subprocess.CalledProcessError) as error:
            self._remove()
            said = error.stderr.strip() if isinstance(error, subprocess.CalledProcessError) else str(error)
            raise Unavailable(f"network namespaces cannot be made: {said}") from error
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._remove()

    def _cable(self, host: int) -> str:
        return f"{self.bridge}-{host}"

    def _make(self, host: int) -> None:
        name, inner = self.name(host), f"{self.bridge}i{host}"
        _ip("netns", "add", name)
        _ip("link", "add", self._cable(host), "type", "veth", "peer", "name", inner)
        _ip("link", "set", self._cable(host), "master", self.bridge, "up")
        _ip("link", "set", inner, "netns", name)
        _ip("-n", name, "addr", "add", f"{self.address_of(host)}/24", "dev", inner)
        _ip("-n", name, "link", "set", inner, "up")
        _ip("-n", name, "link", "set", "lo", "up")

    def _remove(self) -> None:
        """Of whatever there is; a namespace takes its cable with it."""
        for host in range(self._hosts):
            subprocess.run(["ip", "netns", "del", self.name(host)], capture_output=True, check=False)
        subprocess.run(["ip", "link", "del", self.bridge], capture_output=True, check=False)


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], capture_output=True, text=True, check=True)


class Separated(Standalone):
    """A cluster whose workers are in namespaces; master and driver are at the bridge."""

    def __init__(self, folder: Path, namespaces: Namespaces, workers: int) -> None:
        super().__init__(folder, workers)
        self._namespaces = namespaces
        self.master_host = namespaces.address

    def host(self, number: int) -> str:
        return self._namespaces.address_of(number)

    def entering(self, number: int) -> list[str]:
        return ["ip", "netns", "exec", self._namespaces.name(number)]
