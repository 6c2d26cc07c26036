"""Apicurio Registry, which speaks the REST API of Confluent's, from its released archive.

Confluent's own is not on Maven Central. Maven fetches this one once into `.millrace/`, which is outside of
version control. The version is the newest that Java 17 runs.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import time
import urllib.error
import urllib.request
from pathlib import Path
from urllib.parse import quote

ROOT = Path(__file__).resolve().parents[2]
_VERSION = "2.6.13.Final"
_ARCHIVE = ROOT / ".millrace" / "apicurio" / _VERSION
_PATIENCE_S = 120.0


class Unavailable(Exception):
    """Why there is no registry on this machine."""


def program() -> Path:
    """The archive's runnable jar. Raises `Unavailable` where it cannot be had."""
    for tool in ("java", "mvn"):
        if shutil.which(tool) is None:
            raise Unavailable(f"{tool} is not installed")
    jar = _ARCHIVE / f"apicurio-registry-app-{_VERSION}-runner.jar"
    if not jar.exists():
        unpacked = _ARCHIVE.with_name(f"{_VERSION}.unfinished")
        shutil.rmtree(unpacked, ignore_errors=True)
        command = ["mvn", "-q", "-B", "dependency:unpack", f"-DoutputDirectory={unpacked}"]
        command += [f"-Dartifact=io.apicurio:apicurio-registry-app:{_VERSION}:tar.gz:all"]
        unpacked.mkdir(parents=True)
        done = subprocess.run(command, cwd=unpacked, capture_output=True, text=True, check=False)
        if done.returncode:
            first = next((line for line in done.stdout.splitlines() if "ERROR" in line), done.stdout[:200])
            raise Unavailable(f"Maven Central cannot be reached: {first[:300]}")
        unpacked.rename(_ARCHIVE)
    return jar


class Apicurio:
    """One registry; its schemas outlive a restart."""

    def __init__(self, folder: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self._folder = folder
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"http://127.0.0.1:{self._port}/apis/ccompat/v7"

    def start(self) -> None:
        """Start, and return once it answers."""
        self._folder.mkdir(parents=True, exist_ok=True)
        environment = {
            **os.environ,
            "QUARKUS_HTTP_HOST": "127.0.0.1",
            "QUARKUS_HTTP_PORT": str(self._port),
            "REGISTRY_DATASOURCE_URL": f"jdbc:h2:file:{self._folder / 'schemas'}",
        }
        command = ["java", "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-jar", str(program())]
        with (self._folder / "registry.log").open("ab") as log:
            self._process = subprocess.Popen(
                command, cwd=self._folder, env=environment, stdout=log, stderr=log, start_new_session=True
            )
        give_up_at = time.monotonic() + _PATIENCE_S
        while not self._answers():
            if self._process.poll() is not None or time.monotonic() > give_up_at:
                text = (self._folder / "registry.log").read_text()[-2000:]
                raise RuntimeError(f"the registry does not start: {text}")
            time.sleep(0.1)

    def stop(self) -> None:
        if self._process is not None:
            self._process.terminate()
            self._process.wait(60)
            self._process = None

    def register(self, subject: str, schema: object, kind: str = "AVRO") -> int:
        """Give a subject its next version; returns the schema's number. `schema` as for the stand-in."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        body = json.dumps({"schema": text, "schemaType": kind}).encode()
        request = urllib.request.Request(
            f"{self.url}/subjects/{quote(subject, safe='')}/versions",
            body,
            {"Content-Type": "application/vnd.schemaregistry.v1+json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            return int(json.load(answer)["id"])

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.url}/subjects", timeout=5):
                return True
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            return False
