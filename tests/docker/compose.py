"""compose.yaml as typed documents. A key that is not here, or of another type, is a mistake."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ConfigDict, Field

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "docker"
VARIABLE = re.compile(r"(?<!\$)\$\{([A-Z0-9_]+)(?:(:[-?])([^}]*))?\}")


class Part(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Build(Part):
    context: str
    dockerfile: str
    target: Literal["web", "worker", "spark"]


class Dependency(Part):
    condition: Literal["service_started", "service_healthy", "service_completed_successfully"]


class HealthCheck(Part):
    test: list[str] = []
    interval: str | None = None
    timeout: str | None = None
    start_period: str | None = None
    retries: int | None = None
    disable: bool = False


class Limits(Part):
    cpus: str
    memory: str
    pids: int


class Resources(Part):
    limits: Limits


class Deploy(Part):
    resources: Resources
    replicas: int = 1


class Service(Part):
    image: str
    restart: Literal["no", "unless-stopped"]
    init: bool
    cap_drop: list[str]
    security_opt: list[str]
    cap_add: list[str] = []
    build: Build | None = None
    command: list[str] | None = None
    user: str | None = None
    hostname: str | None = None
    environment: dict[str, str] = {}
    ports: list[str] = []
    volumes: list[str] = []
    tmpfs: list[str] = []
    read_only: bool
    shm_size: str | None = None
    stop_grace_period: str | None = None
    networks: list[str]
    depends_on: dict[str, Dependency] = {}
    healthcheck: HealthCheck | None = None
    deploy: Deploy


class Subnet(Part):
    subnet: str


class Addresses(Part):
    config: list[Subnet]


class Network(Part):
    internal: bool = False
    ipam: Addresses | None = None


class Compose(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    name: str
    x_hardened: dict[str, object] = Field(alias="x-hardened")
    x_millrace: dict[str, str] = Field(alias="x-millrace")
    services: dict[str, Service]
    networks: dict[str, Network]
    volumes: dict[str, dict[str, str]]


def text() -> str:
    return (FOLDER / "compose.yaml").read_text()


def load() -> Compose:
    """The file with anchors and merge keys resolved, variables as they are written."""
    return Compose.model_validate(yaml.safe_load(text()))


def example() -> dict[str, str]:
    """The variables of .env.example and their values."""
    lines = (FOLDER / ".env.example").read_text().splitlines()
    return dict(line.split("=", 1) for line in lines if line and not line.startswith("#"))


def expanded(value: str, variables: Mapping[str, str]) -> str:
    """A value as compose would pass it on. Raises `KeyError` for a variable that is required and unset.

    >>> expanded("${A:-1} ${B}", {"B": "2"})
    '1 2'
    """

    def one(found: re.Match[str]) -> str:
        name, kind, default = found.groups()
        if variables.get(name):
            return variables[name]
        if kind == ":-":
            return default
        if kind == ":?":
            raise KeyError(f"{name}: {default}")
        return ""

    return VARIABLE.sub(one, value).replace("$$", "$")
