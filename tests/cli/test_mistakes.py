"""Wrong usage and input exit with 2 and one message that names the value and its fix."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import SAMPLES, TEXTS, row_of, run

from fullrecall import IdRecall, Report
from fullrecall.cli import source

BROKEN = {
    "malformed": ('{"id": "x",\n', ["line 5", "not JSON"]),
    "not an object": ("[1]\n", ["line 5"]),
    "unknown field": (
        '{"reterence": "x"}\n',
        ["line 5", "reterence may be mistyped", "--field reference=reterence"],
    ),
    "unknown fields": (
        '{"text": "why?", "notes": "x", "sample_id": "7"}\n',
        ["user_input=?: no column has the name", "columns: text, notes, sample_id"],
    ),
    "wrong value": (
        '{"reference_context_ids": [["abc", 1]]}\n',
        ["line 5", "reference_context_ids", "['abc', 1] mixes texts and numbers"],
    ),
    "a float for an ID": ('{"reference_context_ids": [1.5]}\n', ["line 5", "1.5 is not an ID"]),
    "twice the same key": ('{"id": "x", "id": "y"}\n', ["line 5", "'id' occurs twice"]),
}


@pytest.mark.parametrize(("line", "said"), BROKEN.values(), ids=BROKEN.keys())
def test_a_bad_line_keeps_what_was_scored_before(
    file: Callable[..., Path], tmp_path: Path, line: str, said: list[str]
) -> None:
    """The error names file, line, field and fix; the samples before it are shown and saved."""
    rows = "".join(f"{json.dumps(sample)}\n" for sample in SAMPLES)
    path, saved = file(rows + line + rows), tmp_path / "report.jsonl"
    result = run("evaluate", path, "--output", saved, "--scorer", "id_recall")
    assert result.exit_code == 2
    told = " ".join(result.stderr.split())
    assert result.stderr.startswith(f"Error: {path}, line 5\n")
    for fragment in said:
        assert fragment in told
    assert "Scored 4 samples before that, saved in" in told
    assert "Traceback" not in result.output
    assert row_of(result.stdout, "scored") == ["2"]
    assert len(Report.load(saved)) == 4


def test_json_of_a_broken_file_says_that_it_is_incomplete(file: Callable[..., Path]) -> None:
    """The JSON for a file that was not read to its end says that it is incomplete."""
    path = file(f"{json.dumps(SAMPLES[0])}\nnot JSON\n")
    result = run("evaluate", path, "--json")
    assert result.exit_code == 2
    assert json.loads(result.stdout)["complete"] is False
    assert json.loads(result.stdout)["samples"] == 1
    assert "line 2" in result.stderr


UNREADABLE: dict[str, tuple[Any, str, str]] = {
    "empty": ("", "samples.jsonl", "holds no samples"),
    "blank lines": ("\n\n", "samples.jsonl", "holds no samples"),
    "not UTF-8": (b'{"user_input": "caf\xe9"}\n', "samples.jsonl", "save the file as UTF-8"),
    "half of UTF-16": ('{"id": "x"}\n'.encode("utf-16")[:-1], "samples.jsonl", "utf-16"),
    "binary": (bytes(range(256)), "samples.jsonl", "line 1"),
    "cut gzip": (b"\x1f\x8b\x08\x00", "samples.jsonl.gz", "truncated"),
    "no ending": ("{}\n", "samples", "--format"),
    "no parquet": ("no parquet", "samples.parquet", "not a Parquet file"),
    "csv of NumPy's lists": (
        "retrieved_context_ids,reference_context_ids\n\"['a' 'b']\",\"['a']\"\n",
        "samples.csv",
        "JSON array",
    ),
    "nothing to score": (
        [{"user_input": "Who?"}],
        "samples.jsonl",
        "id_recall needs",
    ),
}


@pytest.mark.parametrize(("content", "name", "said"), UNREADABLE.values(), ids=UNREADABLE.keys())
def test_a_file_that_cannot_be_read_is_one_block(
    file: Callable[..., Path], content: Any, name: str, said: str
) -> None:
    """Input that is no data set gives one block that names the file, no traceback, exit 2."""
    path = file(content, name)
    result = run("evaluate", path)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith(f"Error: {path}")
    assert said in " ".join(result.stderr.split())
    assert "Traceback" not in result.stderr


def test_where_nothing_is_to_be_found_the_way_out_is_said(file: Callable[..., Path]) -> None:
    """If the chosen scorer finds no target in any sample, the message says what to try."""
    row = {"user_input": "q", "retrieved_contexts": ["a text"], "reference_entities": []}
    result = run("evaluate", file([row], "samples.jsonl"), "--scorer", "entity_recall")
    assert result.exit_code == 2
    told = " ".join(result.stderr.split())
    assert "entity_recall: no targets in any sample; choose another with --scorer" in told
    assert result.stdout == ""


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    """A missing file is named; exit 2."""
    result = run("evaluate", tmp_path / "absent.jsonl")
    assert result.exit_code == 2
    assert result.stderr == f"Error: {tmp_path / 'absent.jsonl'}\n  no such file\n"


WRONG_USAGE = {
    "no command": (["nothing"], "nothing"),
    "no file": (["evaluate"], "FILE"),
    "unknown option": (["evaluate", "{file}", "--depht", "3"], "--depht"),
    "k of 0": (
        ["evaluate", "{file}", "--k", "0"],
        "k must be a whole number of at least 1, or a budget such as 3calls, got '0'",
    ),
    "k no number": (["evaluate", "{file}", "--k", "many"], "--k"),
    "measure": (["evaluate", "{file}", "--measure", "recal@5"], "no measure 'recal'"),
    "scorer": (["evaluate", "{file}", "--scorer", "id"], "choose one of id_recall, span_rec"),
    "threshold": (
        ["evaluate", "{file}", "-s", "text_recall", "--threshold", "3"],
        "such as 0.9, got 3",
    ),
    "threshold without text": (
        ["evaluate", "{file}", "-s", "id_recall", "--threshold", "0.3"],
        "--threshold: needs the scorer text_recall, got id_recall",
    ),
    "missed": (["evaluate", "{file}", "--missed", "-1"], "at least 0, got -1"),
    "rename": (["evaluate", "{file}", "--rename", "old"], "OLD=NEW"),
    "rename to no field": (["evaluate", "{file}", "--rename", "a=b"], "'b', which is not a field"),
    "rename twice": (["evaluate", "{file}", "--rename", "a=id", "--rename", "a="], "twice"),
    "format": (["evaluate", "{file}", "--format", "xml"], "'xml'"),
    "two files of qrels": (["evaluate", "{file}", "b", "--run", "{file}"], "expected one FILE"),
    "format of a run": (["evaluate", "{file}", "--run", "{file}", "--format", "csv"], "--format"),
    "ties of no run": (["evaluate", "{file}", "--ties", "order"], "--ties: needs --run"),
    "ties": (
        ["evaluate", "{file}", "--run", "{file}", "--ties", "x"],
        "must be 'trec' or 'order', got 'x'",
    ),
    "output is the input": (
        ["evaluate", "{file}", "--output", "{file}"],
        "not be an input",
    ),
    "an option as ragas calls it": (["evaluate", "{file}", "--metric", "x"], "--measure"),
    "an option as LangChain calls it": (["evaluate", "{file}", "--top-k", "5"], "--k)"),
    "demo deeper than retrieved": (
        ["demo", "--k", "21"],
        "must be at most 20, got 21",
    ),
    "view": (["evaluate", "{file}", "--view", "all"], "--view must be 'contexts' or 'ret"),
    "measure is a k": (["evaluate", "{file}", "-m", "5"], "write recall@5"),
    "judge": (["evaluate", "{file}", "--judge", "gpt-4o"], "did you mean openai:gpt-4o?"),
    "endpoint of nobody": (["evaluate", "{file}", "--base-url", "http://x"], "needs --judge"),
    "budget of nobody": (
        ["evaluate", "{file}", "--budget-calls", "5"],
        "needs --judge openai:MODEL",
    ),
    "corpus": (["evaluate", "{file}", "--corpus", "no/"], "--corpus: no file or folder no"),
    "references": (["evaluate", "{file}", "--references", "no.jsonl"], "no such file"),
    "retriever": (["evaluate", "{file}", "--retriever", "app"], "such as app.py:search, got 'app'"),
    "no retriever": (["evaluate", "{file}", "--retriever", "no.py:f"], "no file no.py"),
    "retriever's name": (
        ["evaluate", "{file}", "--retriever", "json:lods"],
        "has no attribute 'lods'",
    ),
    "output's form": (["evaluate", "{file}", "--output", "a.txt"], "end in .jsonl or .parquet"),
    "command": (["evalute", "{file}"], "Did you mean 'evaluate'?"),
    "one to compare": (["compare", "{file}"], "at least 2 reports, got 1"),
    "gate of samples": (["gate", "{file}", "--min-recall", "0.9"], "is not a saved report"),
    "gate of nothing": (["gate", "{file}"], "expected --min-recall or --require, or --baseline"),
    "gate in percent": (
        ["gate", "{file}", "--min-recall", "90"],
        "must be a number from 0 to 1, such as 0.9, got 90",
    ),
    "gate's percent sign": (
        ["gate", "{file}", "--baseline", "b", "--margin", "5%"],
        "'--margin': must be a number from 0 to 1, such as 0.9, got 5%",
    ),
    "smallest k in percent": (["smallest-k", "{file}", "--target", "90%"], "such as 0.9, got 90%"),
    "confidence in percent": (["gate", "{file}", "--confidence", "95"], "such as 0.9, got 95"),
    "a judge of another kind": (
        ["evaluate", "{file}", "--judge", "ollama:llama3"],
        "openai:llama3 and --base-url http://localhost:11434/v1",
    ),
    "rows that no record has": (
        ["evaluate", "{file}", "--rows", "rows[]"],
        "no record has a row at 'rows[]': leave it out",
    ),
    "gate's k": (["gate", "{file}", "--k", "5"], "--k: needs --min-recall or --baseline"),
    "gate's rule": (["gate", "{file}", "--require", "recall@5"], "such as recall@10>=0.9, got 're"),
    "gate's baseline": (["gate", "{file}", "--baseline", "b"], "--baseline and --margin together"),
    "gate's measure": (
        ["gate", "{file}", "--min-recall", "0.9", "-m", "rr"],
        "needs --baseline; a threshold is --require 'recall@10>=0.9'",
    ),
    "several k": (["diagnose", "{file}", "--k", "1,5"], "must be one k, got '1,5'"),
    "page over samples": (["page", "{file}", "--output", "{file}"], "must not be an input file"),
    "racer": (["choose", "{file}", "-r", "bm25="], "expected MODULE:NAME, such as app.py:search"),
    "one racer": (["choose", "{file}", "-r", "a=json:loads"], "expected at least 2, got 1"),
    "page's form": (
        ["page", "{file}", "--output", "page.pdf"],
        "must end in .html, got 'page.pdf'",
    ),
    "labels": (["judge", "label", "{file}", "-o", "l.csv"], "Missing option"),
    "labels' form": (["judge", "label", "{file}", "-n", "5", "-o", "l.txt"], "must end in .csv"),
    "followed set's form": (
        ["testset", "follow", "{file}", "--corpus", "{file}", "-o", "f.txt"],
        "must end in .jsonl",
    ),
    "completed set's form": (
        ["testset", "complete", "{file}", "--retrieved", "{file}", "-o", "c.txt"],
        "must end in .jsonl",
    ),
    "no labels": (["judge", "calibrate", "{file}", "no.csv"], "is not a saved report"),
    "set without documents": (["testset", "check", "{file}"], "Missing argument 'DOCUMENTS'"),
    "model": (
        ["testset", "generate", "{file}", "--model", "gpt-4o", "-o", "s.jsonl"],
        "expected openai:MODEL or anthropic:MODEL, got 'gpt-4o'",
    ),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG_USAGE.values(), ids=WRONG_USAGE.keys())
def test_wrong_usage_exits_with_2(
    file: Callable[..., Path], arguments: list[str], said: str
) -> None:
    """Wrong usage exits with 2, runs no evaluation, and the message says the right usage."""
    path = file([TEXTS])
    before = path.read_bytes()
    result = run(*(argument.format(file=path) for argument in arguments))
    assert result.exit_code == 2
    told = " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
    assert said in told
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert path.read_bytes() == before


def test_a_missing_package_is_named_with_its_extra(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A format whose package is not installed says what to install; exit 2."""
    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    result = run("evaluate", file("", "samples.parquet"))
    assert result.exit_code == 2
    assert "  pip install pyarrow\n" in result.stderr


def test_a_long_path_is_not_broken(tmp_path: Path) -> None:
    """An error shows its path in one piece, for any width of the terminal."""
    path = tmp_path / f"{'long' * 40}.jsonl"
    assert f"Error: {path}\n" in run("evaluate", path).stderr


def test_a_scorer_s_own_failure_is_counted_and_explained(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An exception on one sample leaves it unscored with the reason; the run goes on."""

    def chosen(*_: object) -> list[Any]:
        class Failing(IdRecall):
            def _find(self, sample: Any) -> Any:
                if sample.id == "q2":
                    raise RuntimeError("out of order")
                return super()._find(sample)

        return [Failing()]

    monkeypatch.setattr(source, "scorers_of", chosen)
    result = run("evaluate", file(SAMPLES))
    assert result.exit_code == 0
    assert "1 unscored in id_recall: id_recall raised RuntimeError: out of order" in " ".join(
        result.stdout.split()
    )


@pytest.mark.parametrize(
    ("words", "way"),
    [
        ("missed report.jsonl", "Choose one of demo, read, evaluate,"),
        ("calibrate report.jsonl", "Did you mean 'judge calibrate'?"),
        ("evalute a.jsonl", "Did you mean 'evaluate'?"),
        ("testset .", "Choose one of generate, check,"),
        ("gate a.jsonl --min 0.8", "Possible options: --min-recall"),
        ("gate a.jsonl recall@5>=0.8", "a required value is an option, --require"),
    ],
)
def test_a_wrong_word_is_told_the_right_one(words: str, way: str) -> None:
    """An unknown command or option is an error that names similar ones."""
    result = run(*words.split())
    assert result.exit_code == 2
    assert way in " ".join(result.stderr.split())


def test_a_sample_that_no_scorer_can_use_names_its_fields(file: Callable[..., Path]) -> None:
    """The error lists the fields of the first sample."""
    done = run("evaluate", file([{"user_input": "why?", "retrieved_context_ids": ["d1"]}]))
    said = " ".join(done.stderr.split())
    assert "the fields of the first sample (user_input, retrieved_context_ids" in said
    assert "other names for these fields: --rename OLD=NEW" in said


def test_a_score_without_its_field_says_which_options_chose_it(file: Callable[..., Path]) -> None:
    """If samples have no texts, the error says that `--threshold` chose text_recall."""
    result = run("evaluate", file(SAMPLES), "--threshold", "0.8")
    told = " ".join(result.stderr.split())
    assert result.exit_code == 2
    assert "text_recall needs it: name its column, --field FIELD=COLUMN; or leave out" in told


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        ("qrels run.txt --run run.txt", "--run: expected one FILE of qrels, got 2"),
        ("qrels --run run.txt --rows x", "--rows: must be left out with --run"),
        ("qrels --run run.txt --id-key x", "--id-key: must be left out with --run"),
    ],
)
def test_a_trec_run_takes_one_file_and_no_option_of_others(
    words: str, problem: str, file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run is scored against one file of judgments, whose form is known."""
    monkeypatch.chdir(file("1 0 a 1\n", "qrels").parent)
    file("1 Q0 a 1 0.5 x\n", "run.txt")
    result = run("evaluate", *words.split())
    assert result.exit_code == 2
    assert f"Error: Invalid value for {problem}" in " ".join(result.stderr.split())
