"""The deployment's Kafka cluster: address and credentials, from the environment.

Nothing here is written to a plan, a checkpoint, a log or an event. `MILLRACE_KAFKA_SERVERS` names
the brokers; the others are passed on under the names that librdkafka gives them.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field

from optimizer.algebra.errors import InputError, Place

SERVERS = "MILLRACE_KAFKA_SERVERS"
_SETTINGS = {
    "MILLRACE_KAFKA_SECURITY_PROTOCOL": "security.protocol",
    "MILLRACE_KAFKA_SASL_MECHANISM": "sasl.mechanism",
    "MILLRACE_KAFKA_SASL_USERNAME": "sasl.username",
    "MILLRACE_KAFKA_SASL_PASSWORD": "sasl.password",
    "MILLRACE_KAFKA_SSL_CA": "ssl.ca.location",
    "MILLRACE_KAFKA_SSL_CERTIFICATE": "ssl.certificate.location",
    "MILLRACE_KAFKA_SSL_KEY": "ssl.key.location",
    "MILLRACE_KAFKA_SSL_KEY_PASSWORD": "ssl.key.password",
}


@dataclass(frozen=True, slots=True)
class Cluster:
    servers: str
    """HOST:PORT, or several with commas between."""
    security: tuple[tuple[str, str], ...] = field(default=(), repr=False)

    def client(self, **more: str | int | bool) -> dict[str, str | int | float | bool]:
        """The configuration of a client; names of `more` have _ for a dot."""
        settings: dict[str, str | int | float | bool] = {
            "bootstrap.servers": self.servers,
            "client.id": "millrace",
            # What goes wrong reaches us as an exception or an event; the library also writes to stderr.
            "log_level": 0,
            **dict(self.security),
        }
        return settings | {name.replace("_", "."): value for name, value in more.items()}


def configured(environment: Mapping[str, str] = os.environ) -> Cluster | None:
    """The deployment's cluster; None if it has none.

    >>> configured({}) is None
    True
    >>> configured({"MILLRACE_KAFKA_SERVERS": "a:9092", "MILLRACE_KAFKA_SASL_PASSWORD": "x"})
    Cluster(servers='a:9092')
    """
    servers = environment.get(SERVERS, "").strip()
    if not servers:
        return None
    security = tuple((key, environment[name]) for name, key in _SETTINGS.items() if environment.get(name))
    return Cluster(servers, security)


def required(what: str) -> Cluster:
    """The deployment's cluster.

    Raises `InputError` if there is none, saying that `what` needs it.
    """
    cluster = configured()
    if cluster is None:
        raise InputError("no-kafka", Place("environment", path=SERVERS), "nothing", f"HOST:PORT, for {what}")
    return cluster
