"""Signed reports: `gate --signed` takes what was signed with the key, and nothing else."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.files.reports.sealing import seal
from typer.testing import CliRunner

from fullrecall import IdRecall, Report, evaluate
from fullrecall.errors import ParameterError, ReportError

SAMPLES = [{"retrieved_context_ids": ["a"], "reference_context_ids": ["a"]} for _ in range(40)]


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """Return a file with a key."""
    path = tmp_path / "key"
    path.write_text("0123456789abcdef0123456789abcdef\n")
    return path


@pytest.fixture
def signed(tmp_path: Path, key: Path) -> Path:
    """Return a report that was signed."""
    path = tmp_path / "report.jsonl"
    evaluate(SAMPLES, IdRecall(), progress=False).save(path, sign=key)
    return path


def gated(report: Path, key: Path) -> tuple[int, str]:
    """Return the exit code of a gate on a signed report, and what it prints."""
    from fullrecall.cli import app

    done = CliRunner().invoke(
        app, ["gate", str(report), "--min-recall", "0.5", "--signed", str(key)]
    )
    return done.exit_code, " ".join(done.output.split())


@pytest.mark.rooms
def test_what_was_signed_passes(signed: Path, key: Path) -> None:
    """The key's file may end in a line feed or not."""
    assert gated(signed, key)[0] == 0
    key.write_bytes(key.read_bytes().strip())
    assert gated(signed, key)[0] == 0
    assert len(Report.load(signed, signed=key)) == 40


def _edited(report: Path, key: Path) -> None:
    report.write_text(report.read_text("utf-8").replace('["a"]', '["b"]'), "utf-8")
    seal(report)


REFUSED: dict[str, tuple[Callable[[Path, Path], object], str]] = {
    "edited, its digest too": (_edited, "is not what was signed"),
    "a space more": (
        lambda report, key: report.write_bytes(report.read_bytes() + b" "),
        "is not what was signed",
    ),
    "another key": (
        lambda report, key: key.write_text("x" * 32),
        "is not what was signed with the key",
    ),
    "no signature": (
        lambda report, key: report.with_name("report.jsonl.hmac").unlink(),
        "has no signature report.jsonl.hmac",
    ),
    "a signature that is none": (
        lambda report, key: report.with_name("report.jsonl.hmac").write_text("é"),
        "is not what was signed",
    ),
    "a key too short": (lambda report, key: key.write_text(" short\n"), "at least 16 bytes, got 5"),
    "a key file that is missing": (lambda report, key: key.unlink(), "cannot be read"),
}


@pytest.mark.rooms
@pytest.mark.parametrize(("change", "told"), REFUSED.values(), ids=REFUSED)
def test_what_is_refused(
    change: Callable[[Path, Path], object], told: str, signed: Path, key: Path
) -> None:
    """Exit code 2, with the reason."""
    change(signed, key)
    code, output = gated(signed, key)
    assert code == 2
    assert told in output
    with pytest.raises((ReportError, ParameterError)):
        Report.load(signed, signed=key)


@pytest.mark.rooms
def test_the_command_line_signs(tmp_path: Path, key: Path) -> None:
    """`evaluate --sign` signs what it saves, and refuses a key that cannot before it scores."""
    from fullrecall.cli import app

    data, report = tmp_path / "data.jsonl", tmp_path / "made.jsonl"
    data.write_text("".join(f"{json.dumps(one)}\n" for one in SAMPLES))
    command = ["evaluate", str(data), "--output", str(report), "--sign", str(key)]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert gated(report, key)[0] == 0
    report.unlink()
    key.write_text("short")
    assert CliRunner().invoke(app, command).exit_code == 2
    assert not report.exists()


def test_a_replaced_report_has_no_signature(signed: Path, key: Path) -> None:
    """The old one would be of other bytes."""
    Report.load(signed).save(signed, replace=True)
    with pytest.raises(ReportError, match="has no signature"):
        Report.load(signed, signed=key)


@pytest.mark.rooms
def test_a_directory(tmp_path: Path, key: Path) -> None:
    """Its manifest is signed, which has the digests of its files."""
    from fullrecall.cli import app

    pytest.importorskip("pyarrow", reason="needs the parquet extra")
    data, report = tmp_path / "data.jsonl", tmp_path / "made.parquet"
    data.write_text("".join(f"{json.dumps(one)}\n" for one in SAMPLES))
    command = ["evaluate", str(data), "--output", str(report), "--sign", str(key)]
    assert CliRunner().invoke(app, command).exit_code == 0
    assert gated(report, key)[0] == 0
    part = next(report.glob("part-*.parquet"))
    part.write_bytes(part.read_bytes().replace(b"PAR1", b"PAR2", 1))
    assert gated(report, key)[0] == 2
