"""A server that speaks S3's protocol, on this machine."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from types import TracebackType

import pyarrow.fs as pafs

from jobs.sources.folder.object_store import ACCESS_KEY, ENDPOINT, REGION, SECRET_KEY

BUCKET = "millrace"
CREDENTIALS = {"AWS_ACCESS_KEY_ID": "tester", "AWS_SECRET_ACCESS_KEY": "not a secret"}
_REGION = "us-east-1"
_PATIENCE_S = 120.0


class ObjectStore:
    """moto's server in a process of its own, with one bucket, from entering the context to leaving it.

    Whoever opens a URL must have `CREDENTIALS` in its environment, and who reads folders `settings`.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = int(probe.getsockname()[1])
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def address(self) -> str:
        """HOST:PORT."""
        return f"127.0.0.1:{self._port}"

    def url(self, folder: str) -> str:
        options = f"scheme=http&endpoint_override={self.address}&region={_REGION}"
        return f"s3://{BUCKET}/{folder}?{options}"

    @property
    def filesystem(self) -> pafs.S3FileSystem:
        """For whoever brings files, whatever the environment says."""
        key, secret = CREDENTIALS.values()
        return pafs.S3FileSystem(
            access_key=key,
            secret_key=secret,
            region=_REGION,
            scheme="http",
            endpoint_override=self.address,
        )

    @property
    def settings(self) -> dict[str, str]:
        """What the environment of those who read folders in it has."""
        key, secret = CREDENTIALS.values()
        return {
            ENDPOINT: f"http://{self.address}",
            ACCESS_KEY: key,
            SECRET_KEY: secret,
            REGION: _REGION,
        }

    def names(self, folder: str) -> list[str]:
        """The objects under a folder, sorted, relative to it."""
        filesystem, path = pafs.FileSystem.from_uri(self.url(folder))
        selector = pafs.FileSelector(path, allow_not_found=True, recursive=True)
        files = [i.path for i in filesystem.get_file_info(selector) if i.type == pafs.FileType.File]
        return sorted(name.removeprefix(f"{path}/") for name in files)

    def __enter__(self) -> ObjectStore:
        where = ["-H", "127.0.0.1", "-p", str(self._port)]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "moto.server", *where],
                stdout=log,
                stderr=log,
                env={**os.environ, **CREDENTIALS},
            )
        give_up_at = time.monotonic() + _PATIENCE_S
        while True:
            bucket = urllib.request.Request(f"http://127.0.0.1:{self._port}/{BUCKET}", method="PUT")
            try:
                with urllib.request.urlopen(bucket, timeout=10):
                    return self
            except OSError:
                if time.monotonic() > give_up_at:
                    self._process.kill()
                    raise
                time.sleep(0.1)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self._process is not None
        self._process.terminate()
        self._process.wait(_PATIENCE_S)
