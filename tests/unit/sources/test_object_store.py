"""Folders in an object store, read over HTTP from a server that speaks S3's protocol."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack

import pyarrow.parquet as pq
import pytest

from jobs.sources.connector import Away
from jobs.sources.folder import listing, object_store
from jobs.sources.folder.allowed import directories, url_of
from jobs.sources.folder.files import FolderFiles, LineRange
from jobs.sources.folder.listing import LISTED_EVERY_S
from jobs.sources.folder.looking import look_into
from jobs.sources.folder.object_store import ACCESS_KEY, ENDPOINT, SECRET_KEY, account
from optimizer.algebra.errors import InputError
from optimizer.algebra.settings import BadSetting
from tests.cluster.object_store import BUCKET, CREDENTIALS, ObjectStore
from tests.unit.sources.connector_kit import COLUMNS
from tests.unit.sources.test_folder import CLOCK, Reader, table

KEY, SECRET = CREDENTIALS["AWS_ACCESS_KEY_ID"], CREDENTIALS["AWS_SECRET_ACCESS_KEY"]


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listing, "time", CLOCK)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ObjectStore]:
    with ObjectStore(tmp_path_factory.mktemp("store") / "moto.log") as store:
        yield store


class Lake:
    """A prefix of the bucket, the operator's directory `lake`."""

    def __init__(self, server: ObjectStore, prefix: str) -> None:
        self.root = f"{BUCKET}/{prefix}"
        self.filesystem = server.filesystem

    def write(self, name: str, numbers: Sequence[int]) -> None:
        with self.filesystem.open_output_stream(f"{self.root}/r/{name}") as target:
            rows = table(numbers).to_pylist()
            match name.rpartition(".")[2]:
                case "parquet":
                    pq.write_table(table(numbers), target, row_group_size=3)
                case "csv":
                    lines = [f'"{row["at"].isoformat()}",{row["n"]}' for row in rows]
                    target.write("\n".join(["at,n", *lines]).encode())
                case _:
                    lines = [json.dumps({"at": row["at"].isoformat(), "n": row["n"]}) for row in rows]
                    target.write("".join(f"{line}\n" for line in lines).encode())

    def delete(self, name: str) -> None:
        self.filesystem.delete_file(f"{self.root}/r/{name}")


@pytest.fixture
def lake(server: ObjectStore, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Lake:
    made = Lake(server, str(abs(hash(request.node.name))))
    monkeypatch.setenv("MILLRACE_FILES_DIRECTORIES", f"landing=/srv/landing, lake=s3://{made.root}/")
    for name, value in server.settings.items():
        monkeypatch.setenv(name, value)
    return made


@pytest.mark.parametrize("kind", ["parquet", "csv", "json"])
def test_objects_are_read_in_parts_by_name_and_once(lake: Lake, kind: str) -> None:
    lake.write(f"b.{kind}", range(7, 10))
    lake.write(f"a.{kind}", range(7))
    lake.write(f"_a.{kind}", [99])
    lake.write(f"below/c.{kind}", [99])
    settings = FolderFiles("lake/r", format=kind)
    reader = Reader(settings, 4)
    assert reader.batch() is None
    found = []
    for _ in range(3):
        reader.settle()
        numbers = reader.batch()
        found.append(numbers)
        # Read again after a kill, and gone on with by another process.
        assert reader.read() == numbers
        reader = Reader(settings, 4, reader.position)
    assert found == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    lake.delete(f"a.{kind}")
    lake.write(f"c.{kind}", [10])
    reader.settle()
    assert reader.batch() == [10]
    assert reader.letters == []


def test_an_object_that_is_written_again_is_told_of_and_never_mixed(lake: Lake) -> None:
    lake.write("a.csv", range(6))
    reader = Reader(FolderFiles("lake/r", format="csv"), 3)
    reader.settle()
    assert reader.batch() == [0, 1, 2]
    assert reader.plan()
    # S3 tells of changes by the second.
    time.sleep(1.1)
    lake.write("a.csv", range(1, 7))
    with pytest.raises(InputError, match="a file that was changed since it was found"):
        reader.read()
    lake.delete("a.csv")
    with pytest.raises(InputError, match="no such file"):
        reader.read()


def test_an_object_that_changes_under_a_reader_is_told(lake: Lake) -> None:
    lake.write("a.csv", range(6))
    url = url_of("lake/r")
    assert url is not None
    reading = ExitStack()
    file, _ = reading.enter_context(object_store.opened_object(url, "a.csv"))
    assert file.read(4) == b"at,n"
    lake.write("a.csv", range(1, 7))
    with pytest.raises(object_store.RewrittenObject):
        reading.close()


def test_a_late_object_is_told(lake: Lake) -> None:
    lake.write("b.csv", [1])
    reader = Reader(FolderFiles("lake/r", format="csv"))
    reader.settle()
    assert reader.batch() == [1]
    lake.write("a.csv", [2])
    reader.settle()
    with pytest.raises(InputError, match=r"when files up to b\.csv had been read"):
        reader.plan()


def test_a_prefix_without_objects_is_an_empty_folder(lake: Lake) -> None:
    reader = Reader(FolderFiles("lake/none", format="csv"))
    assert reader.batch() is None
    look_into(FolderFiles("lake/none", format="csv"), COLUMNS)


def test_what_is_wrong_is_told_when_the_stream_is_registered(lake: Lake) -> None:
    lake.write("a.csv", [1])
    look_into(FolderFiles("lake/r", format="csv"), COLUMNS)
    with pytest.raises(BadSetting, match="only the columns at, n instead of a column m"):
        look_into(FolderFiles("lake/r", format="csv"), (*COLUMNS, ("m", COLUMNS[1][1])))
    with pytest.raises(BadSetting, match=r"there is a\.csv, and 1 in all"):
        look_into(FolderFiles("lake/r", "*.json", format="json"), COLUMNS)
    with pytest.raises(BadSetting, match="instead of a readable Parquet file"):
        look_into(FolderFiles("lake/r"), COLUMNS)


def test_nothing_leads_out_of_the_prefix(lake: Lake) -> None:
    reader = Reader(FolderFiles("lake/r", format="csv"))
    lake.write("a/b.csv", [1])
    for name in ("../a.csv", "a/b.csv", "..", ""):
        with pytest.raises(InputError, match="no such file"):
            reader.part(LineRange("r", "lake/r", name, 40, 0, 0, 1, 5, 40, True))
    for folder in ("lake/../other", "lake//r", "lake/."):
        with pytest.raises(OSError, match="no name in a folder"):
            url_of(folder)
    assert url_of("lake/r") == f"s3://{lake.root}/r"
    assert url_of("landing/r") is None


def test_a_store_that_is_away_is_waited_for_and_its_keys_are_in_no_message(
    lake: Lake, monkeypatch: pytest.MonkeyPatch
) -> None:
    lake.write("a.csv", [1])
    reader = Reader(FolderFiles("lake/r", format="csv"))
    reader.settle()
    monkeypatch.setenv(ENDPOINT, "http://127.0.0.1:1")
    CLOCK.sleep(LISTED_EVERY_S * 1.05)
    with pytest.raises(Away) as told:
        reader.plan()
    assert SECRET not in str(told.value)
    assert KEY not in str(told.value)
    assert SECRET not in repr(account())
    assert KEY not in repr(account())


def test_positions_and_descriptors_hold_neither_address_nor_keys(lake: Lake, server: ObjectStore) -> None:
    lake.write("a.csv", [1])
    reader = Reader(FolderFiles("lake/r", format="csv"))
    reader.settle()
    assert reader.batch() == [1]
    for secret in (KEY, SECRET, server.address, BUCKET):
        assert secret not in json.dumps(reader.position)


@pytest.mark.parametrize("text", ["store:9000", "ftp://store", "http://k:s@store", "http://store/path"])
def test_an_endpoint_that_is_none_is_refused_without_telling_it(text: str) -> None:
    with pytest.raises(InputError, match="MILLRACE_S3_ENDPOINT: found another text") as told:
        account({ENDPOINT: text})
    assert text not in str(told.value)


def test_one_key_needs_the_other() -> None:
    with pytest.raises(InputError, match="MILLRACE_S3_SECRET_KEY: found nothing"):
        account({ACCESS_KEY: "a"})
    with pytest.raises(InputError, match="MILLRACE_S3_ACCESS_KEY: found nothing"):
        account({SECRET_KEY: "a"})


@pytest.mark.parametrize(
    "path", ["s3://", "s3:///prefix", "s3://k:s@bucket", "s3://bucket/a?b", "gs://bucket"]
)
def test_an_url_that_is_none_is_refused(path: str) -> None:
    with pytest.raises(InputError, match="NAME=s3://BUCKET/PREFIX"):
        directories({"MILLRACE_FILES_DIRECTORIES": f"lake={path}"})


def test_a_row_group_of_an_object_is_read_where_it_lies(lake: Lake) -> None:
    lake.write("a.parquet", range(10))
    reader = Reader(FolderFiles("lake/r"), 5)
    reader.settle()
    assert reader.batch() == [0, 1, 2, 3, 4]
    assert reader.batch() == [5, 6, 7, 8, 9]
