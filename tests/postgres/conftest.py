"""A real PostgreSQL server, started by the test run as an account without privileges."""

from __future__ import annotations

import getpass
import os
import pwd
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import psycopg
import pytest

from tests.api.conftest import redis_url  # noqa: F401  (a fixture of these tests too)

BINARIES = Path("/usr/lib/postgresql")
"""Where Debian and its relatives put each version's server programs."""


@dataclass(frozen=True, slots=True)
class Server:
    port: int
    binaries: Path

    def url(self, database: str) -> str:
        return f"postgresql://millrace@127.0.0.1:{self.port}/{database}"

    def fresh(self, database: str) -> str:
        """An empty database; returns its DATABASE_URL."""
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f'DROP DATABASE IF EXISTS "{database}" WITH (FORCE)')
            connection.execute(f'CREATE DATABASE "{database}"')
        return self.url(database)


def server_programs() -> Path | None:
    """The folder of the newest installed server, or None."""
    found = shutil.which("postgres")
    if found:
        return Path(found).resolve().parent
    versions = [folder for folder in BINARIES.glob("*/bin") if (folder / "initdb").exists()]
    return max(versions, key=lambda folder: float(folder.parent.name), default=None)


def _account() -> pwd.struct_passwd | None:
    """Whom the server runs as: ourselves, or `postgres` as it refuses to run as root."""
    if os.geteuid() != 0:
        return pwd.getpwnam(getpass.getuser())
    try:
        return pwd.getpwnam("postgres")
    except KeyError:
        return None


@pytest.fixture(scope="session")
def postgres() -> Iterator[Server]:
    programs, account = server_programs(), _account()
    if programs is None or account is None:
        pytest.skip("no PostgreSQL server here; Debian, Ubuntu: apt-get install postgresql")
    # Not pytest's folder: the server's account may not enter that one.
    home = Path(tempfile.mkdtemp(prefix="millrace-postgres-"))
    os.chown(home, account.pw_uid, account.pw_gid)
    as_account = {"user": account.pw_uid, "group": account.pw_gid} if os.geteuid() == 0 else {}

    def run(*command: str) -> None:
        done = subprocess.run(command, cwd=home, capture_output=True, text=True, check=False, **as_account)
        assert done.returncode == 0, f"{command[0]}: {done.stdout}{done.stderr}"

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    data = str(home / "data")
    control = [str(programs / "pg_ctl"), "-D", data, "-w", "-l", str(home / "log")]
    try:
        run(str(programs / "initdb"), "-D", data, "-U", "millrace", "-A", "trust", "-E", "UTF8", "--no-sync")
        options = f"-c listen_addresses=127.0.0.1 -p {port} -k {home} -c fsync=off -c max_connections=60"
        run(*control, "-o", options, "start")
        try:
            yield Server(port, programs)
        finally:
            run(*control, "-m", "immediate", "stop")
    finally:
        shutil.rmtree(home)
