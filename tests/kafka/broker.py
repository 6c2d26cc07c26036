"""A Kafka broker of one node, KRaft, from its released jars.

Maven fetches them once into `.millrace/`, which is outside of version control.
"""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from pathlib import Path

import trustme
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient
from cryptography.hazmat.primitives import serialization

ROOT = Path(__file__).resolve().parents[2]
_POM = Path(__file__).with_name("pom.xml")
_JARS = ROOT / ".millrace" / "kafka" / "jars"
_STAMP = ".pom.xml"
_PATIENCE_S = 120.0
USER, PASSWORD = "millrace", "a-secret-of-the-tests"


class Unavailable(Exception):
    """Why there is no broker on this machine."""


def jars() -> Path:
    """The directory of the broker's jars. Raises `Unavailable` where they cannot be had."""
    for program in ("java", "mvn"):
        if shutil.which(program) is None:
            raise Unavailable(f"{program} is not installed")
    stamp = _JARS / _STAMP
    if not stamp.exists() or stamp.read_bytes() != _POM.read_bytes():
        shutil.rmtree(_JARS, ignore_errors=True)
        command = ["mvn", "-q", "-B", "-f", str(_POM), "dependency:copy-dependencies"]
        # Maven's build directory would lie beside the pom, in the tree.
        command += [f"-DoutputDirectory={_JARS}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            first = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stdout[:200])
            raise Unavailable(f"Maven Central cannot be reached: {first[:300]}")
        stamp.write_bytes(_POM.read_bytes())
    return _JARS


def _write_certificates(authority: Path, broker: Path) -> None:
    """PEM files: an authority, and the broker's key and certificate, in the form that Kafka reads."""
    made = trustme.CA()
    issued = made.issue_cert("127.0.0.1")
    key = serialization.load_pem_private_key(issued.private_key_pem.bytes(), None)
    text = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    broker.write_bytes(text + b"".join(pem.bytes() for pem in issued.cert_chain_pems))
    made.cert_pem.write_to_path(str(authority))


def _free_ports(number: int) -> list[int]:
    probes = [socket.socket() for _ in range(number)]
    for probe in probes:
        probe.bind(("127.0.0.1", 0))
    ports = [int(probe.getsockname()[1]) for probe in probes]
    for probe in probes:
        probe.close()
    return ports


class Broker:
    """One broker, with a plain listener and one with TLS and a password; its topics outlive a restart."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        plain, controller, guarded = _free_ports(3)
        self.servers = f"127.0.0.1:{plain}"
        self.guarded_servers = f"127.0.0.1:{guarded}"
        self._process: subprocess.Popen[bytes] | None = None
        login = (
            "org.apache.kafka.common.security.plain.PlainLoginModule required "
            f'username="{USER}" password="{PASSWORD}" user_{USER}="{PASSWORD}";'
        )
        folder.mkdir(parents=True, exist_ok=True)
        self.authority = folder / "authority.pem"
        _write_certificates(self.authority, folder / "broker.pem")
        (folder / "server.properties").write_text(
            f"""\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{plain},CONTROLLER://127.0.0.1:{controller},GUARDED://127.0.0.1:{guarded}
advertised.listeners=PLAINTEXT://127.0.0.1:{plain},GUARDED://127.0.0.1:{guarded}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,GUARDED:SASL_SSL
listener.name.guarded.ssl.keystore.type=PEM
listener.name.guarded.ssl.keystore.location={folder / "broker.pem"}
listener.name.guarded.sasl.enabled.mechanisms=PLAIN
listener.name.guarded.plain.sasl.jaas.config={login}
controller.listener.names=CONTROLLER
inter.broker.listener.name=PLAINTEXT
log.dirs={folder / "log"}
num.partitions=1
offsets.topic.replication.factor=1
offsets.topic.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
transaction.state.log.num.partitions=1
group.initial.rebalance.delay.ms=0
auto.create.topics.enable=false
log.retention.check.interval.ms=500
log.initial.task.delay.ms=500
log.segment.delete.delay.ms=100
"""
        )
        (folder / "log4j.properties").write_text(
            "log4j.rootLogger=WARN, stderr\nlog4j.appender.stderr=org.apache.log4j.ConsoleAppender\n"
        )
        self._java = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        self._java += [f"-Dlog4j.configuration=file:{folder / 'log4j.properties'}", "-cp", f"{jars()}/*"]

    def format(self) -> None:
        """Make an empty log directory; once, before the first start."""
        command = [*self._java, "kafka.tools.StorageTool", "format", "--ignore-formatted"]
        command += ["-t", "4L6g3nShT-eMCtK--X86sw", "-c", str(self._folder / "server.properties")]
        subprocess.run(command, check=True, capture_output=True)

    def start(self) -> None:
        """Start, and return once it answers."""
        with (self._folder / "broker.log").open("ab") as log:
            command = [*self._java, "kafka.Kafka", str(self._folder / "server.properties")]
            self._process = subprocess.Popen(command, stdout=log, stderr=log, start_new_session=True)
        give_up_at = time.monotonic() + _PATIENCE_S
        while True:
            try:
                self.admin().list_topics(timeout=2)
            except KafkaException:
                if self._process.poll() is not None or time.monotonic() > give_up_at:
                    text = (self._folder / "broker.log").read_text()[-2000:]
                    raise RuntimeError(f"the broker does not start: {text}") from None
            else:
                return

    def stop(self) -> None:
        """Stop it as an operator would."""
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def kill(self) -> None:
        """As a crash would."""
        assert self._process is not None
        self._process.kill()
        self._process.wait(60)
        self._process = None

    def admin(self) -> AdminClient:
        return AdminClient({"bootstrap.servers": self.servers, "log_level": 0})
