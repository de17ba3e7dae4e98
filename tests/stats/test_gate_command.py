"""`fullrecall gate`: its output and all of its exits."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.stats.gate_reports import TEXTS

from fullrecall import Gate, Report, TextRecall, evaluate
from fullrecall.measures import Recall
from fullrecall.report import Outcome

PASS, FAIL, CANNOT_TELL = Outcome.PASS, Outcome.FAIL, Outcome.CANNOT_TELL


class TestCommand:
    """`fullrecall gate REPORT` decides about reports of the demo's collection."""

    @pytest.fixture(autouse=True)
    def _terminal(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setenv("NO_COLOR", "1")

    def run(self, *arguments: object) -> Any:
        """Run the command line in this process."""
        from tests.cli.command_line import run

        return run("gate", *arguments)

    @pytest.mark.rooms
    @pytest.mark.parametrize(
        ("least", "code", "said"),
        [
            (0.1, 0, "PASS id_recall@10 is at least 0.1"),
            (0.2, 3, "CANNOT TELL id_recall@10 is from"),
            (0.4, 1, "FAIL id_recall@10 is at most 0.2"),
        ],
    )
    def test_least_recall(
        self, saved: Mapping[str, Path], least: float, code: int, said: str
    ) -> None:
        """`--min-recall` gives all three exit codes with a real retriever."""
        result = self.run(saved["main"], "--require", f"recall@10>={least}")
        assert result.exit_code == code
        assert said in " ".join(result.stdout.split())
        assert result.stderr == ""

    @pytest.mark.rooms
    def test_min_recall_is_a_threshold_of_recall(self, saved: Mapping[str, Path]) -> None:
        """--min-recall is --require for recall, over all or over the first --k."""
        for options, rule in ((("--k", 10), "recall@10>=0.2"), ((), "recall>=0.2")):
            short = self.run(saved["main"], "--min-recall", 0.2, *options)
            long = self.run(saved["main"], "--require", rule)
            assert (short.exit_code, short.stdout) == (long.exit_code, long.stdout)
        both = self.run(saved["main"], "--min-recall", 0.1, "--require", "rr>=0.01").stdout
        assert len(re.findall(r"^[A-Z ]+  id_recall", both, re.MULTILINE)) == 2
        alone = self.run(saved["main"], "--k", 10)
        assert alone.exit_code == 2
        assert "--min-recall" in alone.stderr

    @pytest.mark.rooms
    @pytest.mark.parametrize(
        ("name", "code"), [("main", 0), ("worse", 0), ("unclear", 3), ("worst", 1)]
    )
    def test_baseline(self, saved: Mapping[str, Path], name: str, code: int) -> None:
        """A much worse retriever fails against the baseline; one within the margin passes."""
        result = self.run(saved[name], "--baseline", saved["main"], "--margin", 0.05)
        assert result.exit_code == code
        if code == 3:
            assert re.search(
                r"141 samples\).*about [\d,]+ samples with these values",
                " ".join(result.stdout.split()),
            )

    @pytest.mark.rooms
    def test_other_parameters_are_printed(self, tmp_path: Path) -> None:
        """Other parameters are printed after the rules, on the terminal and in Markdown."""
        path, summary = tmp_path / "report.jsonl", tmp_path / "summary.md"
        evaluate([TEXTS] * 60, TextRecall(threshold=0.05), progress=False).save(path)
        printed = self.run(path, "--min-recall", 0.5, "--markdown", summary).stdout
        assert " ".join(printed.split()).endswith(
            "differ from the defaults: text_recall(threshold=0.05)."
        )
        assert "(threshold=0.05" in summary.read_text("utf-8")

    @pytest.mark.rooms
    def test_as_a_process(self, saved: Mapping[str, Path]) -> None:
        """The exit codes are those of the process."""
        codes = []
        for least in (0.1, 0.2, 0.4):
            command = [sys.executable, "-c", "from fullrecall.cli import main; main()"]
            arguments = ["gate", str(saved["main"]), "--require", f"recall>={least}"]
            codes.append(subprocess.run([*command, *arguments], check=False).returncode)
        assert codes == [0, 3, 1]

    @pytest.mark.rooms
    def test_json_is_all_that_is_printed(self, saved: Mapping[str, Path]) -> None:
        """--json prints the result of `to_dict`, with the same exit code."""
        result = self.run(saved["main"], "--require", "recall>=0.2", "--json")
        expected = Gate(Recall >= 0.2).check(Report.load(saved["main"])).to_dict()
        assert json.loads(result.stdout) == json.loads(json.dumps(expected))
        assert result.exit_code == 3

    @pytest.mark.rooms
    def test_options_reach_the_gate(self, saved: Mapping[str, Path]) -> None:
        """--confidence and --score are passed to the gate."""
        assert (
            self.run(saved["main"], "--require", "recall>=0.2", "--confidence", 0.8).exit_code == 0
        )
        arguments = ("--require", "recall>=0.1", "--score", "id_recall")
        assert self.run(saved["main"], *arguments).exit_code == 0

    @pytest.mark.rooms
    def test_markdown_is_appended(self, saved: Mapping[str, Path], tmp_path: Path) -> None:
        """Markdown is appended to a job's summary, and keeps its earlier text."""
        summary = tmp_path / "summary.md"
        summary.write_text("# Job\n\n")
        self.run(saved["main"], "--require", "recall>=0.1", "--markdown", summary)
        written = summary.read_text("utf-8")
        assert written.startswith("# Job\n\n### ✅ Recall gate: PASS")

    @pytest.mark.rooms
    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["{main}"], "expected --min-recall or --require, or --baseline with --margin"),
            (["{main}", "--baseline", "{main}"], "expected --baseline and --margin together"),
            (["{main}", "--margin", "0.1"], "expected --baseline and --margin together"),
            (["{main}", "--require", "recall>=90"], "must be a number from 0 to 1"),
            (["{main}", "--require", "recall@0>=0.9"], "whole number of at least 1"),
            (["{main}", "--require", "recall>=0.9", "--score", "x"], "no score 'x' in the report"),
            (["{main}x", "--require", "recall>=0.9"], "No such file"),
            (["{script}", "--require", "recall>=0.9"], "is not a saved report"),
            (["--require", "recall>=0.9"], "REPORT"),
        ],
    )
    def test_wrong_usage_and_input(
        self, saved: Mapping[str, Path], arguments: list[str], said: str
    ) -> None:
        """Wrong usage or input exits with 2, in one block without a traceback."""
        places = {"main": saved["main"], "script": __file__}
        result = self.run(*(argument.format(**places) for argument in arguments))
        assert result.exit_code == 2
        assert said in " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
        assert "Traceback" not in result.output
