"""A report that lacks samples says so in memory, in its file, and in all its outputs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from fullrecall import Gate, IdRecall, Report, Sample, evaluate
from fullrecall.errors import InputError, Interrupted, ReportError
from fullrecall.files.reports.json_lines import JsonLinesWriter
from fullrecall.measures import Recall
from fullrecall.report import compare


def run(*arguments: object) -> Any:
    """Run the command line in this process; raise any exception but an exit."""
    from tests.cli import command_line

    return command_line.run(*arguments)


def samples(count: int = 40) -> list[Sample]:
    """Return samples with every target found."""
    return [Sample(id=n, query="q", retrieved_ids=["a"], expected_ids=["a"]) for n in range(count)]


def whole() -> Report:
    """Return the report of a complete run."""
    return evaluate(samples(), IdRecall(), progress=False)


@pytest.fixture
def partial() -> Report:
    """Return the report of a run that a bad sample ended."""
    with pytest.raises(InputError) as stopped:
        evaluate([*samples(), {"no such field": 1}], IdRecall(), progress=False)
    report = stopped.value.report
    assert isinstance(report, Report)
    return report


def test_a_run_to_the_end_is_complete(tmp_path: Path) -> None:
    """A complete run's report is complete, and the last line of its file says so."""
    report, path = whole(), tmp_path / "report.jsonl"
    assert report.complete
    report.save(path)
    assert Report.load(path).stopped is None
    last = json.loads(path.read_text("utf-8").splitlines()[-1])
    assert (last["samples"], last["stopped"]) == (40, None)


def test_what_ended_a_run_is_kept(partial: Report, tmp_path: Path) -> None:
    """A report keeps the reason of its early end, also after saving and loading."""
    assert not partial.complete
    assert "no such field" in (partial.stopped or "")
    first, second = tmp_path / "report.jsonl", tmp_path / "again.jsonl"
    partial.save(first)
    Report.load(first).save(second)
    assert Report.load(second).stopped == partial.stopped
    assert first.read_bytes() == second.read_bytes()


def test_ctrl_c_is_told() -> None:
    """An interrupted run's report has the samples scored until then."""

    def interrupted() -> Iterator[Sample]:
        yield from samples(3)
        raise KeyboardInterrupt

    with pytest.raises(Interrupted) as stopped:
        evaluate(interrupted(), IdRecall(), progress=False)
    assert stopped.value.report.stopped == "the run was interrupted"
    assert len(stopped.value.report) == 3


def test_a_file_that_was_cut_off_is_partial(tmp_path: Path) -> None:
    """A file that ends after any line but the last is partial, as after a killed run."""
    path = tmp_path / "report.jsonl"
    whole().save(path)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    for count in (1, 2, 20, 41):
        path.write_text("".join(lines[:count]), "utf-8")
        loaded = Report.load(path)
        assert len(loaded) == count - 1
        assert "has no end" in (loaded.stopped or "")
    path.write_text("".join(lines)[:-10], "utf-8")
    with pytest.warns(UserWarning, match="the last line is cut off"):
        loaded = Report.load(path)
    assert (len(loaded), loaded.complete) == (40, False)


def test_lines_that_were_taken_out_are_noticed(tmp_path: Path) -> None:
    """A file from which lines were removed is refused, since its end counts the samples."""
    path = tmp_path / "report.jsonl"
    whole().save(path)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join([*lines[:5], *lines[8:]]), "utf-8")
    with pytest.raises(ReportError, match="has 37 samples, and its last line says 40"):
        Report.load(path)
    path.write_text("".join([*lines, lines[1]]), "utf-8")
    with pytest.raises(ReportError, match=":42: sample is missing"):
        Report.load(path)


@pytest.mark.rooms
@pytest.mark.parametrize("methods", ["", ', "methods": [{"x": 1}]', ', "methods": 7'])
def test_a_broken_head_is_no_traceback(tmp_path: Path, methods: str) -> None:
    """A broken head is an error with the line, and the command exits with 2."""
    path = tmp_path / "report.jsonl"
    path.write_text(f'{{"kind": "fullrecall report", "version": 4{methods}}}\n', "utf-8")
    with pytest.raises(ReportError, match=":1: methods"):
        Report.load(path)
    assert run("summary", path).exit_code == 2


def test_a_writer_that_is_left_by_an_error_says_it(tmp_path: Path) -> None:
    """A writer that an error ends keeps the rows written, with the reason behind them."""
    path, report = tmp_path / "report.jsonl", whole()
    with pytest.raises(ValueError, match="broken"), JsonLinesWriter(path, report.methods) as writer:  # noqa: PT012 - both
        writer.write(report.rows[0].sample, report.rows[0].results)
        raise ValueError("broken")
    loaded = Report.load(path)
    assert (len(loaded), loaded.stopped) == (1, "the run was stopped: broken")


def test_the_summary_says_it(partial: Report) -> None:
    """The summary says that samples are missing, as text, Markdown, and dictionary."""
    text = " ".join(str(partial.summary()).split())
    assert f"40 samples, not all: {partial.stopped}"[:200] in text
    assert r"40 samples, not all\: " in " ".join(partial.to_markdown().split())
    assert partial.summary().to_dict()["complete"] is False
    assert "not all" not in str(whole().summary())


def test_a_comparison_says_it(partial: Report) -> None:
    """A comparison says which of its reports is partial."""
    notes = str(compare(partial, whole()))
    assert "the report before has 40 samples, not all" in notes
    assert "the report after has" not in notes


def test_a_gate_cannot_tell(partial: Report) -> None:
    """The gate neither passes nor fails, since the missing samples are not a random part."""
    high, low = Gate(Recall >= 0.5), Gate(Recall >= 1)
    assert high.check(whole()).outcome == "pass"
    for gate in (high, low):
        (check,) = gate.check(partial).checks
        assert check.outcome == "cannot_tell"
        assert "the report does not have all of its samples" in check.reason
    change = Gate(margin=0.9)
    (check,) = change.check(whole(), partial).checks
    assert (check.outcome, check.reason.startswith("the baseline does")) == ("cannot_tell", True)


@pytest.mark.rooms
def test_the_command_line(tmp_path: Path) -> None:
    """A run that a bad line ends leaves a partial report, and the gate refuses it with exit 3."""
    file, saved = tmp_path / "samples.jsonl", tmp_path / "report.jsonl"
    lines = [json.dumps(sample.to_dict()) for sample in samples()]
    file.write_text("\n".join([*lines, '{"no such field": 1}']), "utf-8")
    done = run("evaluate", file, "--scorer", "id_recall", "--output", saved, "--json")
    assert done.exit_code == 2
    assert json.loads(done.stdout)["complete"] is False
    assert "no such field" in (Report.load(saved).stopped or "")
    told = run("gate", saved, "--require", "recall>=0.5")
    assert told.exit_code == 3
    assert "CANNOT TELL the report does not have all of its samples" in " ".join(
        told.stdout.split()
    )
