"""Golden sets and reports at addresses, and folders whose names are columns."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fullrecall import IdRecall, Report, evaluate
from fullrecall._util.places import address_of, partitions_of, shown_path
from fullrecall.errors import FullrecallError, InputError, MissingExtraError, ReportError
from fullrecall.files import containers
from fullrecall.files.reports.signature import is_report
from fullrecall.read import read

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
ds = pytest.importorskip("pyarrow.dataset", reason="needs the parquet extra")
fsspec = pytest.importorskip("fsspec", reason="needs the remote extra")

SAMPLES: list[dict[str, Any]] = [
    {"id": f"q{n}", "retrieved_ids": [f"d{n % 3}", "x"], "expected_ids": ["d1"]} for n in range(50)
]
NOBODY = "s3://AKIAKEY:S3CRET@bucket/x.parquet?endpoint_override=127.0.0.1:1&scheme=http"
"""An address with credentials at which no server answers."""


@pytest.fixture
def memory() -> Any:
    """Return fsspec's file system in memory, emptied."""
    files = fsspec.filesystem("memory")
    for path in files.ls("/", detail=False):
        files.rm(path, recursive=True)
    return files


def _report() -> Report:
    return evaluate(SAMPLES, IdRecall(), progress=False)


@pytest.mark.parametrize("name", ["r.parquet", "r.jsonl"])
@pytest.mark.parametrize("scheme", ["memory", "file"])
def test_a_report_at_an_address(name: str, scheme: str, memory: Any, tmp_path: Path) -> None:
    """A report at an address is saved, refused where one exists, replaced, and read."""
    address = f"memory://bucket/{name}" if scheme == "memory" else f"file://{tmp_path}/{name}"
    report = _report()
    report.save(address)
    with pytest.raises(ReportError, match=r"exists: pass replace=True"):
        report.save(address)
    report[:20].save(address, replace=True)
    report.save(Path(address), replace=True)  # `Path` removes one of the slashes.
    assert list(Report.open(address)) == list(Report.load(address)) == list(report)
    assert [sample.id for sample in read(address)] == [sample["id"] for sample in SAMPLES]


def test_an_output_at_an_address(memory: Any) -> None:
    """A run writes to an address, resumes there, and replaces other rows only if told to."""
    address = "memory://bucket/o.parquet"
    for _ in range(2):
        done = evaluate(SAMPLES, IdRecall(), output=address, progress=False)
        assert list(done) == list(_report())
    with pytest.raises(ReportError, match=r"memory://bucket/o\.parquet has other samples"):
        evaluate(SAMPLES[:10], IdRecall(), output=address, progress=False)
    options: dict[str, Any] = {"output": address, "replace": True, "progress": False}
    assert len(evaluate(SAMPLES[:10], IdRecall(), **options)) == 10
    memory.pipe("/bucket/o.parquet/notes.txt", b"mine")
    with pytest.raises(ReportError, match=r"has 'notes\.txt', which no report wrote"):
        evaluate(SAMPLES[:9], IdRecall(), **options)
    with pytest.raises(ReportError, match="no file at an address grows line by line"):
        evaluate(SAMPLES, IdRecall(), output="memory://bucket/o.jsonl", progress=False)


def test_a_report_at_an_address_leaves_no_file_of_the_one_it_replaces(
    memory: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A smaller report and a run replace every file at the address, a single one too."""
    monkeypatch.setattr("fullrecall.files.reports.parquet.GROUP_ROWS", 20)
    names = ["_manifest.json", "part-00000.parquet"]
    _report().save("memory://bucket/r.parquet")
    _report()[:20].save("memory://bucket/r.parquet", replace=True)
    assert memory.find("/bucket") == [f"/bucket/r.parquet/{name}" for name in names]
    for name in ("one.parquet", "scores/any.parquet"):
        memory.pipe(f"/bucket/{name}", memory.cat("/bucket/r.parquet/part-00000.parquet"))
    assert len(Report.open("memory://bucket/scores")) == 20
    output: dict[str, Any] = {"output": "memory://bucket/one.parquet", "replace": True}
    evaluate(SAMPLES[:9], IdRecall(), progress=False, **output)
    assert not memory.isfile("/bucket/one.parquet")


def test_what_is_no_report_at_an_address(memory: Any) -> None:
    """Another suffix, and another file at the address, are refused; the file stays."""
    with pytest.raises(
        ReportError, match=r"a report is saved as \.jsonl or \.parquet, got 'r\.html'"
    ):
        _report().save("memory://bucket/r.html")
    with pytest.raises(
        ReportError, match=r"a report is saved as \.jsonl or \.parquet, got 'r\.csv'"
    ):
        evaluate(SAMPLES, IdRecall(), output="memory://bucket/r.csv", progress=False)
    memory.pipe("/bucket/r.parquet", b"mine")
    for replace in (False, True):
        with pytest.raises(
            ReportError, match=r"r\.parquet is not a saved report: name another file"
        ):
            evaluate(
                SAMPLES,
                IdRecall(),
                output="memory://bucket/r.parquet",
                replace=replace,
                progress=False,
            )
    assert memory.cat("/bucket/r.parquet") == b"mine"
    assert memory.find("/") == ["/bucket/r.parquet"]


def test_a_golden_set_at_an_address(memory: Any) -> None:
    """A golden set at an address is read as text, compressed or Parquet; errors name the line."""
    lines = "\n".join(map(json.dumps, SAMPLES)).encode()
    memory.pipe("/g/a.jsonl", lines)
    memory.pipe("/g/a.json.gz", gzip.compress(json.dumps(SAMPLES).encode()))
    sink = pa.BufferOutputStream()
    pa.parquet.write_table(pa.Table.from_pylist(SAMPLES), sink)
    memory.pipe("/g/a.parquet", sink.getvalue().to_pybytes())
    memory.pipe("/g/lines.json", lines)
    memory.pipe("/folder/kind=x/a.jsonl", lines)
    for name in ("g/a.jsonl", "g/a.json.gz", "g/a.parquet", "g/lines.json", "folder"):
        assert len(list(read(f"memory://{name}"))) == 50
    memory.pipe("/g/own.jsonl", b'{"user_input": "fullrecall?", "retrieved_ids": []}')
    assert len(list(read("memory://g/own.jsonl"))) == 1
    memory.pipe("/g/b.jsonl", lines + b"\n{")
    with pytest.raises(InputError, match=r"memory://g/b\.jsonl:51: "):
        list(read("memory://g/b.jsonl"))
    with pytest.raises(InputError, match=r"memory://g/c\.jsonl: no such file"):
        read("memory://g/c.jsonl")


@pytest.mark.parametrize(
    ("act", "error"),
    [
        (Report.open, ReportError),
        (Report.load, ReportError),
        (lambda address: _report().save(address), ReportError),
        (lambda address: evaluate([], IdRecall(), output=address, progress=False), ReportError),
        (read, InputError),
    ],
)
def test_credentials_stay_out_of_errors(
    act: Callable[[str], Any], error: type[FullrecallError], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the address and the fix, without any part of a key or of the query."""

    def fails(address: str) -> Any:
        raise OSError(f"{address}: access denied to AKIAKEY")

    monkeypatch.setattr("fullrecall._util.places._filesystem", fails)
    with pytest.raises(error, match=r"^s3://bucket/x\.parquet cannot be reached: ") as raised:
        act(NOBODY)
    assert "check the address, its credentials" in str(raised.value)
    assert not any(secret in str(raised.value) for secret in ("AKIA", "S3CRET", "endpoint"))


@pytest.mark.parametrize(
    "path",
    [
        " redis://:S3CRET@h/0",
        "'redis://:S3CRET@h/0'",
        "store=redis://:S3CRET@h/0",
        "rediss://[S3CRET@h/0",
        "redis://h:S3CRET/0",
        "redis://h/0#S3CRET",
    ],
)
@pytest.mark.parametrize("of", [str, Path], ids=["text", "path"])
def test_the_address_of_a_server_is_no_file(path: str, of: Callable[[str], Any]) -> None:
    """An address that was meant for another option shows no password, however it is written."""
    with pytest.raises(FullrecallError) as raised:
        list(read(of(path)))
    assert "S3CRET" not in str(raised.value)


def test_only_the_end_of_a_parquet_file_marks_a_report(memory: Any, tmp_path: Path) -> None:
    """The columns are named at the end of a file, so its data may have any word."""
    for before, after in ((b"fullrecall", bytes(2**20)), (bytes(2**20), b"fullrecall")):
        memory.pipe("/g/a.parquet", before + after)
        (tmp_path / "a.parquet").write_bytes(before + after)
        for path in ("memory://g/a.parquet", tmp_path / "a.parquet"):
            assert is_report(path) is (after == b"fullrecall")
    (tmp_path / "a.txt").write_text('{"kind": "fullrecall report"}', "utf-8")
    assert not is_report(tmp_path / "a.txt")


def test_an_unknown_scheme(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error for an unknown scheme names the missing package."""
    with pytest.raises(ReportError, match=r"nope://x/y cannot be reached: .*nope"):
        Report.open("nope://x/y")
    monkeypatch.setitem(__import__("sys").modules, "fsspec", None)
    with pytest.raises(MissingExtraError, match=r"memory:// addresses needs fsspec"):
        Report.open("memory://x/y")


def test_parquet_without_pyarrow(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error names the missing package."""
    report = _report()
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.compute", None)
    with pytest.raises(MissingExtraError, match="a report as Parquet needs pyarrow"):
        report.save(tmp_path / "r.parquet")


def test_addresses_and_their_columns() -> None:
    """Local paths are no addresses, a user and a query are hidden, and folders may name columns."""
    assert address_of(Path("s3://b/x")) == "s3://b/x"
    assert address_of(Path("file:///tmp/x")) == "file:///tmp/x"
    assert (address_of("/a:/b"), address_of("C:/x"), address_of(None)) == (None, None, None)
    assert shown_path("https://me:pw@host/x.jsonl?token=1") == "https://host/x.jsonl"
    assert partitions_of("a=1/no%20b=c%3Dd/e=__HIVE_DEFAULT_PARTITION__/f=2.parquet") == {
        "a": "1",
        "no b": "c=d",
        "e": None,
    }


def test_folders_of_a_golden_set_are_columns(tmp_path: Path) -> None:
    """Folder names become metadata, and a file's own column of that name is kept."""
    for tenant in ("north", "south"):
        folder = tmp_path / f"tenant={tenant}"
        folder.mkdir()
        text = "".join(json.dumps({**sample, "n": tenant}) + "\n" for sample in SAMPLES[:3])
        (folder / "part.jsonl").write_text(text)
    for name in ("_SUCCESS", "notes.txt"):
        (tmp_path / name).write_text("")
    report = evaluate(read(tmp_path), IdRecall(), progress=False)
    slices = report.slices("tenant")
    assert [slices[name].samples for name in ("north", "south")] == [3, 3]
    (tmp_path / "tenant=south" / "part.jsonl").write_text(text + "{\n")
    with pytest.raises(InputError, match=r"tenant=south/part\.jsonl:4: not JSON"):
        list(read(tmp_path))


def test_folders_without_columns_are_refused(tmp_path: Path) -> None:
    """Two sets in one folder are refused, and two formats lead to a question."""
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("{}\n")
    with pytest.raises(InputError, match="is a directory: name one file in it"):
        read(tmp_path)
    (tmp_path / "c.csv").write_text("id\n1\n")
    with pytest.raises(InputError, match=r"holds files of csv and jsonl: pass format"):
        containers.partitions(str(tmp_path), None)


@pytest.mark.rooms
def test_folders_of_a_report_are_columns(tmp_path: Path) -> None:
    """An engine's partitions become metadata to slice by, or the sample's field of that name."""
    rows = [{"row": n, "tenant": "ab"[n % 2], "group": f"g{n % 3}", **SAMPLES[n]} for n in range(9)]
    from fullrecall import BatchScorer

    scores = BatchScorer(IdRecall(), position="row")(pa.Table.from_pylist(rows))
    names = ["tenant", "group"]
    ds.write_dataset(
        scores, tmp_path / "r", format="parquet", partitioning=names, partitioning_flavor="hive"
    )
    report = Report.open(tmp_path / "r", rows=9)
    assert report.complete
    slices = report.slices("tenant")
    assert [slices[name].samples for name in "ab"] == [5, 4]
    assert report.table.groups == [f"g{n % 3}" for n in range(9)]
    assert report.summary()[0].main.groups == 3


@pytest.mark.rooms
def test_the_command_line_takes_addresses(memory: Any) -> None:
    """The command line reads a set, and writes and summarizes a report, at an address."""
    from tests.cli.command_line import run

    memory.pipe("/g/a.jsonl", "\n".join(map(json.dumps, SAMPLES)).encode())
    output = "memory://bucket/r.parquet"
    scored = run("evaluate", "memory://g/a.jsonl", "--output", output)
    assert scored.exit_code == 0, scored.output
    assert f"Saved to {output}." in scored.output
    shown = run("summary", output)
    assert (shown.exit_code, "0.340" in shown.output) == (0, True), shown.output
    missing = run("summary", "memory://bucket/none.parquet")
    assert missing.exit_code == 2
    assert "memory://bucket/none.parquet does not exist" in missing.output
