"""`docker/operate/pin`: images by digest. The engine is a stand-in: there is none where the tests run."""

from __future__ import annotations

import hashlib
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.docker.compose import FOLDER

ENGINE = """#!/bin/sh
# docker buildx imagetools inspect NAME --format '{{.Manifest.Digest}}'
[ "$1 $2 $3 $5" = "buildx imagetools inspect --format" ] || exit 64
case "$4" in *@*) exit 64 ;; esac
printf 'sha256:%s\\n' "$(printf '%s' "$4$MOVED" | sha256sum | cut -d' ' -f1)"
"""


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """The deployment's files, beside an engine."""
    folder = tmp_path / "docker"
    (folder / "operate").mkdir(parents=True)
    for name in ("compose.yaml", "Dockerfile", "operate/pin"):
        shutil.copy(FOLDER / name, folder / name)
    engine = tmp_path / "bin" / "docker"
    engine.parent.mkdir()
    engine.write_text(ENGINE)
    engine.chmod(0o755)
    return folder


def pin(copy: Path, *words: str, moved: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["sh", str(copy / "operate" / "pin"), *words],
        env={"PATH": f"{copy.parent / 'bin'}:/usr/bin:/bin", "MOVED": moved},
        capture_output=True,
        text=True,
        check=False,
    )


def images(copy: Path) -> set[str]:
    text = (copy / "compose.yaml").read_text() + (copy / "Dockerfile").read_text()
    return set(re.findall(r"^(?: *image:|FROM) (\S+:\S+)(?: AS .*)?$", text, re.MULTILINE))


def test_every_image_gets_the_digest_of_its_tag(copy: Path) -> None:
    tags = images(copy)
    assert len(tags) >= 6
    before = {name: (copy / name).read_text() for name in ("compose.yaml", "Dockerfile")}
    assert pin(copy, "--check").returncode == (1 if any("@" not in tag for tag in tags) else 0)
    done = pin(copy)
    assert done.returncode == 0, done.stderr
    plain = {tag.partition("@")[0] for tag in tags}
    assert images(copy) == {f"{tag}@sha256:{hashlib.sha256(tag.encode()).hexdigest()}" for tag in plain}
    assert pin(copy, "--check").returncode == 0
    # Nothing but the names has changed.
    for name, text in before.items():
        after = (copy / name).read_text()
        assert re.sub(r"@sha256:[0-9a-f]{64}", "", after) == re.sub(r"@sha256:[0-9a-f]{64}", "", text)


def test_a_second_time_follows_the_tags(copy: Path) -> None:
    assert pin(copy).returncode == 0
    first = images(copy)
    assert pin(copy).returncode == 0
    assert images(copy) == first
    assert pin(copy, moved="!").returncode == 0
    assert not images(copy) & first


@pytest.mark.parametrize("answer", ["", "sha256:short", "denied: no such image", "sha256:" + "0" * 63 + "g"])
def test_what_is_no_digest_reaches_no_file(copy: Path, answer: str) -> None:
    before = (copy / "compose.yaml").read_text()
    (copy.parent / "bin" / "docker").write_text(f"#!/bin/sh\nprintf '%s\\n' '{answer}'\n")
    done = pin(copy)
    assert done.returncode == 1
    assert "expected sha256: and 64 hexadecimal digits" in done.stderr
    assert (copy / "compose.yaml").read_text() == before


def test_without_a_registry_nothing_changes(copy: Path) -> None:
    before = (copy / "compose.yaml").read_text()
    (copy.parent / "bin" / "docker").write_text("#!/bin/sh\necho 'no route' >&2; exit 1\n")
    assert pin(copy).returncode != 0
    assert (copy / "compose.yaml").read_text() == before
