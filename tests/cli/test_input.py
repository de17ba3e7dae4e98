"""`evaluate` reads files of all kinds, several at once, and columns under other names."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

from tests.cli.command_line import SAMPLES, run


def test_trec_runs_are_read_with_their_qrels(file: Callable[..., Path]) -> None:
    """With --run, FILE is the qrels; a measure's min_grade makes them binary, as trec_eval's -l."""
    qrels = file("1 0 d1 2\n1 0 d2 1\n2 0 d3 1\n", "qrels.txt")
    ranking = file("1 Q0 d2 1 9.0 t\n1 Q0 d1 2 8.0 t\n2 Q0 d9 1 9.0 t\n", "bm25.run")
    measures = ("recall", "recall@1", "recall(min_grade=2)@1")
    options = [argument for measure in measures for argument in ("--measure", measure)]
    done = run("evaluate", qrels, "--run", ranking, *options, "--json")
    (score,) = json.loads(done.stdout)["scores"]
    means = {name: one["mean"] for name, one in score["measures"].items()}
    assert means == {"recall": 0.5, "recall@1": 0.25, "recall(min_grade=2)@1": 0.0}
    assert score["measures"]["recall(min_grade=2)@1"]["undefined"] == 1


def test_ties_of_a_run(file: Callable[..., Path]) -> None:
    """Equal scores of a run are ordered as in trec_eval, or as in the file by --ties order."""
    qrels = file("1 0 a 1\n", "qrels.txt")
    ranking = file("1 Q0 a 1 2.0 t\n1 Q0 b 2 2.0 t\n", "bm25.run")
    for options, mean in (((), 0.0), (("--ties", "trec"), 0.0), (("--ties", "order"), 1.0)):
        done = run("evaluate", qrels, "--run", ranking, "--k", "1", *options, "--json")
        (score,) = json.loads(done.stdout)["scores"]
        assert score["measures"]["recall@1"]["mean"] == mean


def test_columns_are_renamed_and_left_out(file: Callable[..., Path]) -> None:
    """--rename OLD=NEW renames a column, OLD= leaves it out, and --format overrides the ending."""
    rows = [{"found": ["a"], "gold": ["a", "b"], "junk": 1}]
    path = file(rows, "samples.data")
    renames = ("found=retrieved_context_ids", "gold=reference_context_ids", "junk=")
    options = [argument for rename in renames for argument in ("--rename", rename)]
    result = run("evaluate", path, *options, "--format", "jsonl", "--json")
    assert json.loads(result.stdout)["scores"][0]["measures"]["recall"]["mean"] == 0.5


def test_columns_are_renamed_in_one_option(file: Callable[..., Path]) -> None:
    """--rename a=b,c=d are two pairs; a column's name may hold an =."""
    row = {"found": ["a"], "gold=": ["a", "b"], "junk": 1}
    renames = "found=retrieved_ids,gold==expected_ids,junk="
    result = run("evaluate", file([row]), "--rename", renames, "--json")
    assert json.loads(result.stdout)["scores"][0]["measures"]["recall"]["mean"] == 0.5


def test_several_files_are_one_report(file: Callable[..., Path]) -> None:
    """Several files, and standard input, give one report of all their samples."""
    parts = [file(SAMPLES[:1], "part-1.jsonl"), file(SAMPLES[1:], "part-2.jsonl")]
    whole = run("evaluate", file(SAMPLES), "--json").stdout
    assert run("evaluate", *parts, "--json").stdout == whole
    lines = "".join(f"{json.dumps(row)}\n" for row in SAMPLES)
    piped = run("evaluate", "-", "--json", input=lines)
    assert (piped.exit_code, piped.stdout) == (0, whole)
    mixed = [str(parts[0]), "-"]
    rest = "".join(f"{json.dumps(row)}\n" for row in SAMPLES[1:])
    assert run("evaluate", *mixed, "--json", input=rest).stdout == whole


def test_standard_input_is_named_in_errors() -> None:
    """The error of a line that came through a pipe names standard input."""
    result = run("evaluate", "-", input='{"id": "q1"}\n{"id": \n')
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: standard input")
    as_parquet = run("evaluate", "-", "--format", "parquet", input="x")
    assert "name a file" in as_parquet.stderr
