"""The command line: what it prints, what it saves, and what it does when something is wrong."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

import fullrecall
from fullrecall import IdRecall, Report, evaluate
from fullrecall.cli import app, evaluation
from fullrecall.cli import job as cli_job
from fullrecall.cli.commands import COMMANDS
from fullrecall.datasets import read
from fullrecall.measures import RR, Measure, Recall, nDCG

SAMPLES: list[dict[str, Any]] = [
    {
        "id": "q1",
        "user_input": "Where is the Eiffel Tower?",
        "retrieved_context_ids": ["d1", "d2", "d3", "d4", "d5", "d6", "d7"],
        "reference_context_ids": ["d2", "d7", "d9"],
    },
    {
        "id": "q2",
        "user_input": "Who built it?",
        "retrieved_context_ids": ["d8", "d8", "d1"],
        "reference_context_ids": ["d1"],
    },
    {"id": "q3", "retrieved_context_ids": ["d1"], "reference_context_ids": []},
    {"id": "q4", "reference_context_ids": ["d1"]},
]
TEXTS = {
    "user_input": "Where is it?",
    "retrieved_contexts": [{"id": "d1", "text": "It stands in Paris, on the Champ de Mars."}],
    "reference_contexts": ["It stands in Paris, on the Champ de Mars."],
    "reference": "The tower is in Paris.",
    "reference_context_ids": ["d1"],
}


@pytest.fixture(autouse=True)
def _eighty_columns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.delenv("FORCE_COLOR", raising=False)


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., Path]:
    """Return what writes rows, or a text, to a file and returns its path."""

    def written(rows: list[Any] | str | bytes, name: str = "samples.jsonl") -> Path:
        path = tmp_path / name
        if isinstance(rows, bytes):
            path.write_bytes(rows)
        else:
            lines = rows if isinstance(rows, str) else "".join(f"{json.dumps(r)}\n" for r in rows)
            path.write_text(lines, encoding="utf-8")
        return path

    return written


def run(*arguments: object) -> Any:
    """Run the command line in this process; whatever is no exit is raised."""
    return CliRunner().invoke(app, [str(a) for a in arguments], catch_exceptions=False)


def command(*arguments: object) -> list[str]:
    """Return the command that runs the installed command line in a process of its own."""
    start = "from fullrecall.cli import main; main()"
    return [sys.executable, "-c", start, *map(str, arguments)]


def row_of(printed: str, label: str) -> list[str]:
    """Return the cells of a table's row."""
    (cells,) = re.findall(rf"^  {re.escape(label)}  +(.+)$", printed, re.MULTILINE)
    return str(cells).split()


def recall_by_hand(sample: dict[str, Any], k: int | None) -> float:
    """Return recall@k of a row of IDs, as its definition says it."""
    wanted = set(sample["reference_context_ids"])
    return len(wanted & set(sample["retrieved_context_ids"][:k])) / len(wanted)


def test_version_is_the_package_s() -> None:
    """`--version` prints the version that the package has."""
    assert run("--version").stdout == f"fullrecall {fullrecall.__version__}\n"


def test_importing_the_command_line_is_light() -> None:
    """What a command needs is loaded when it runs, so that `--help` comes at once."""
    heavy = "numpy pandas rapidfuzz tqdm langchain_core llama_index bm25s".split()
    heavy += ["fullrecall.datasets", "fullrecall.collections", "fullrecall.demo.demonstration"]
    code = f"import sys, fullrecall.cli; print([m for m in {heavy!r} if m in sys.modules])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


@cache
def commands() -> dict[str, Any]:
    """Return each command by the words that call it."""
    group: Any = typer.main.get_command(app)
    found = {name: group.commands[name].loaded() for name in COMMANDS}
    below = found["testset"].commands
    return {"": group, **found, **{f"testset {name}": one for name, one in below.items()}}


@pytest.mark.parametrize("name", commands())
def test_help_fits_into_80_columns_and_breaks_no_example(name: str) -> None:
    """Every line fits, every example is in one piece, and no type is shown as if to be typed."""
    result = run(*name.split(), "--help")
    assert result.exit_code == 0
    shown = result.stdout.splitlines()
    assert max(map(len, shown)) <= 80
    examples = re.findall(r"^ {2,}(.+)$", commands()[name].help or "", re.MULTILINE)
    assert examples or name == "doctor"
    for example in examples:
        assert example.strip() in [line.strip() for line in shown]
    assert not re.search(r"<\w+(\[\w+\])?>|\{[A-Z]+\}", result.stdout)


def examples_of(name: str) -> list[str]:
    """Return the command lines that a help text shows, each in one line."""
    text = (commands()[name].help or "").replace("\\\n", " ")
    return re.findall(r"^  fullrecall (.*)$", text, re.MULTILINE)


@pytest.mark.parametrize("example", [each for name in commands() for each in examples_of(name)])
def test_examples_in_help_are_valid(example: str, tmp_path: Path) -> None:
    """The options that the help texts use exist and take these values."""
    name, *arguments = shlex.split(example)
    found = commands()
    if name == "testset":
        name, arguments = f"testset {arguments[0]}", arguments[1:]
    # Parses the options, and runs nothing.
    arguments = [tmp_path.as_posix() if one.startswith("/") else one for one in arguments]
    found[name].make_context(name, arguments)


@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_is_the_one_that_the_list_names(name: str) -> None:
    """A command's own help begins with what `fullrecall --help` says of it."""
    command = typer.main.get_command(app).commands[name].loaded()  # type: ignore[attr-defined]
    assert command.name == name
    assert command.help.startswith(f"{COMMANDS[name].summary}\n\n")


def test_the_first_example_is_scored_as_it_stands(file: Callable[..., Path]) -> None:
    """The line of a .jsonl file that the help shows is a sample."""
    shown = evaluation.HELP.split(":\n")[1].partition("\n\n")[0]
    result = run("evaluate", file(json.dumps(json.loads(shown))), "--json")
    assert json.loads(result.stdout)["scores"][0]["measures"]["recall"]["mean"] == 0.5


def test_scores_equal_a_plain_set_loop(file: Callable[..., Path]) -> None:
    """The means are those of the samples that have one, at every k, and coverage is counted."""
    result = run("evaluate", file(SAMPLES), "--scorer", "id_recall", "--json")
    (score,) = json.loads(result.stdout)["scores"]
    scored = SAMPLES[:2]
    for k in (1, 3, 5, 10, None):
        expected = sum(recall_by_hand(sample, k) for sample in scored) / len(scored)
        name = "recall" if k is None else f"recall@{k}"
        assert score["measures"][name]["mean"] == pytest.approx(expected)
    assert (score["scored"], score["undefined"], score["unscored"]) == (2, 1, 1)


def test_the_table_shows_what_the_summary_holds(file: Callable[..., Path]) -> None:
    """The printed cells are the numbers of `evaluate`: means, and what they stand on."""
    path = file(SAMPLES)
    score = evaluate(read(path), IdRecall()).summary()["id_recall"]
    printed = run("evaluate", path).stdout
    for k in (1, 3, 5, 10):
        assert row_of(printed, f"@{k}") == [f"{score[Recall @ k].mean:.3f}"]
    assert row_of(printed, "all retrieved") == [f"{score.mean:.3f}"]
    assert [row_of(printed, s)[0] for s in ("scored", "undefined", "unscored")] == ["2", "1", "1"]
    assert "1 unscored in id_recall: no retrieval observed" in " ".join(printed.split())


def test_k_and_measures_choose_what_is_shown(file: Callable[..., Path]) -> None:
    """--k shows recall there and nowhere else, --measure any measure; each once, in order."""
    path = file(SAMPLES)
    report = evaluate(read(path), IdRecall())

    def shown(*options: object) -> dict[str, float]:
        (score,) = json.loads(run("evaluate", path, *options, "--json").stdout)["scores"]
        return {name: one["mean"] for name, one in score["measures"].items()}

    def expected(*measures: Measure) -> dict[str, float | None]:
        (score,) = report.summary(*measures)
        return {measure.name: score[measure].mean for measure in measures}

    assert shown("--k", 3) == expected(Recall @ 3)
    assert shown("--measure", "rr", "-m", "nDCG(gain=exponential) @ 5") == expected(
        RR, nDCG(gain="exponential") @ 5
    )
    both = ("--k", 3, "--measure", "precision@3", "--measure", "recall@3")
    assert list(shown(*both)) == ["recall@3", "precision@3"]
    assert row_of(run("evaluate", path, *both).stdout, "precision@3")


def test_an_undefined_mean_is_taken_from_the_measure(file: Callable[..., Path]) -> None:
    """`zero_division` is a parameter of the measure that is asked for."""
    rows = [SAMPLES[1], SAMPLES[2]]
    measures = ("-m", "recall", "-m", "recall(zero_division=0)")
    (score,) = json.loads(run("evaluate", file(rows), *measures, "--json").stdout)["scores"]
    assert [one["mean"] for one in score["measures"].values()] == [1.0, 0.5]


@pytest.mark.parametrize("ending", [".csv", ".json", ".md"])
def test_exports_have_the_measures(file: Callable[..., Path], tmp_path: Path, ending: str) -> None:
    """What is written at the end has the measures that are shown."""
    saved = tmp_path / f"scores{ending}"
    assert run("evaluate", file(SAMPLES), "-m", "ndcg@3", "--output", saved).exit_code == 0
    assert "ndcg@3" in saved.read_text("utf-8").replace("\\", "")


def test_what_was_missed_is_listed_with_its_rank(file: Callable[..., Path]) -> None:
    """A target beyond k is shown at its rank, one never retrieved with how far was looked."""
    printed = run("evaluate", file(SAMPLES), "--scorer", "id_recall", "--k", 5).stdout
    assert (
        "q1  Where is the Eiffel Tower?\n  d7 — at rank 7\n  d9 — not in the first 7\n" in printed
    )
    assert "d2 —" not in printed  # found at rank 2


def test_missed_limits_the_list_and_says_how_many_there_are(file: Callable[..., Path]) -> None:
    """`--missed N` shows N samples, of all that miss something; 0 shows none."""
    rows = [{**SAMPLES[0], "id": f"question-{n}"} for n in range(7)]
    printed = run("evaluate", file(rows), "--missed", 2).stdout
    assert "7 samples miss something, the first 2:" in printed
    assert re.findall(r"question-\d", printed) == ["question-0", "question-1"]
    assert "question-" not in run("evaluate", file(rows), "--missed", 0).stdout


def test_a_sample_that_misses_much_is_cut(file: Callable[..., Path]) -> None:
    """One sample with hundreds of missed targets does not fill the screen."""
    row = {"retrieved_context_ids": ["x"], "reference_context_ids": [f"d{n}" for n in range(300)]}
    printed = run("evaluate", file([row])).stdout
    assert "… and 290 more" in printed
    assert len(printed.splitlines()) < 50


@pytest.mark.parametrize(
    ("dropped", "expected"),
    [
        (
            (),
            (
                "Scored id_recall; --scorer offers span_recall, text_recall, entity_recall, "
                "claim_recall, too."
            ),
        ),
        (
            ("reference_context_ids",),
            "Scored span_recall; --scorer offers text_recall, entity_recall, claim_recall, too.",
        ),
        (("reference_contexts", "reference"), "Scored id_recall. "),
        (
            ("reference_contexts", "reference_context_ids"),
            "Scored entity_recall; --scorer offers claim_recall, too.",
        ),
    ],
)
def test_one_scorer_is_chosen_by_the_first_sample(
    file: Callable[..., Path], dropped: tuple[str, ...], expected: str
) -> None:
    """Without --scorer, one runs, and those are named that the fields would allow as well."""
    row = {name: value for name, value in TEXTS.items() if name not in dropped}
    printed = " ".join(run("evaluate", file([row, {**row, "id": "second"}])).stdout.split())
    assert expected in f"{printed} "


def test_what_is_evaluated_by_default_can_be_gated(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    """Evaluate and gate, both without naming a score: one score is in the report."""
    saved = tmp_path / "report.jsonl"
    run("evaluate", file([TEXTS] * 30), "--output", saved)
    result = run("gate", saved, "--min-recall", 0.5, "--point")
    assert (result.exit_code, result.stderr) == (0, "")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--threshold", 0.8), ["text_recall"]),
        (("--judge", "lexical"), ["claim_recall"]),
        (("--judge", "lexical", "--similarity", "ratio"), ["text_recall", "claim_recall"]),
    ],
)
def test_an_option_of_a_scorer_asks_for_it(
    file: Callable[..., Path], options: tuple[object, ...], expected: list[str]
) -> None:
    """Without --scorer, the scorers run whose options are given, and no other."""
    plain = json.loads(run("evaluate", file([TEXTS]), *options, "--json").stdout)
    assert [score["name"] for score in plain["scores"]] == expected


def test_options_reach_their_scorers(file: Callable[..., Path], tmp_path: Path) -> None:
    """Each option is a parameter of the scorer that takes it."""
    saved = tmp_path / "report.jsonl"
    run(
        *("evaluate", file([TEXTS]), "--output", saved, "-s", "id_recall", "-s", "text_recall"),
        *("--threshold", 0.7, "--similarity", "token_set_ratio"),
    )
    by_id, by_text = Report.load(saved).methods
    assert (by_id.name, by_id.parameters) == ("id_recall", {})
    assert by_text.name == "text_recall"
    assert by_text.parameters["threshold"] == 0.7
    assert by_text.parameters["similarity"] == "token_set_ratio"


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


def test_columns_are_renamed_and_left_out(file: Callable[..., Path]) -> None:
    """--rename OLD=NEW reads a column as a field, OLD= leaves it out, --format overrides."""
    rows = [{"found": ["a"], "gold": ["a", "b"], "junk": 1}]
    path = file(rows, "samples.data")
    renames = ("found=retrieved_context_ids", "gold=reference_context_ids", "junk=")
    options = [argument for rename in renames for argument in ("--rename", rename)]
    result = run("evaluate", path, *options, "--format", "jsonl", "--json")
    assert json.loads(result.stdout)["scores"][0]["measures"]["recall"]["mean"] == 0.5


@pytest.mark.parametrize(
    ("pairs", "columns"),
    [
        ("found=retrieved_ids,gold=expected_ids,junk=", ("found", "gold", "junk")),
        ("found, best=retrieved_ids,gold=expected_ids,a=b=", ("found, best", "gold", "a=b")),
    ],
)
def test_columns_are_renamed_in_one_option(
    file: Callable[..., Path], pairs: str, columns: tuple[str, str, str]
) -> None:
    """--rename a=b,c=d are two pairs; a column's name may hold a comma, and an = too."""
    row = dict(zip(columns, (["a"], ["a", "b"], 1), strict=True))
    result = run("evaluate", file([row]), "--rename", pairs, "--json")
    assert json.loads(result.stdout)["scores"][0]["measures"]["recall"]["mean"] == 0.5


def test_several_ks_are_shown_and_the_largest_is_what_misses_count_for(
    file: Callable[..., Path],
) -> None:
    """--ks 5,1 shows recall at 1 and at 5, and lists what the first 5 miss."""
    printed = run("evaluate", file(SAMPLES), "--ks", "5,1").stdout
    assert re.findall(r"^  (@\d+|all)", printed, re.MULTILINE) == ["@1", "@5"]
    assert "d7 — at rank 7" in printed
    assert "d2 —" not in printed  # found at rank 2
    assert run("evaluate", file(SAMPLES), "--k", "1,5").stdout == printed


def test_several_files_are_one_report(file: Callable[..., Path], tmp_path: Path) -> None:
    """Files one after the other, a pattern in quotes, and standard input: the same samples."""
    parts = [file(SAMPLES[:1], "part-1.jsonl"), file(SAMPLES[1:], "part-2.jsonl")]
    whole = run("evaluate", file(SAMPLES), "--json").stdout
    assert run("evaluate", *parts, "--json").stdout == whole
    assert run("evaluate", tmp_path / "part-*.jsonl", "--json").stdout == whole
    assert run("evaluate", parts[0], tmp_path / "part-*.jsonl", "--json").stdout == whole
    lines = "".join(f"{json.dumps(row)}\n" for row in SAMPLES)
    piped = CliRunner().invoke(app, ["evaluate", "-", "--json"], input=lines)
    assert (piped.exit_code, piped.stdout) == (0, whole)
    mixed = [str(parts[0]), "-"]
    rest = "".join(f"{json.dumps(row)}\n" for row in SAMPLES[1:])
    assert CliRunner().invoke(app, ["evaluate", *mixed, "--json"], input=rest).stdout == whole


def test_standard_input_is_named_in_errors() -> None:
    """What is wrong with a line that came through a pipe is said of standard input."""
    result = CliRunner().invoke(app, ["evaluate", "-"], input='{"id": "q1"}\n{"id": \n')
    assert result.exit_code == 2
    assert result.stderr.startswith("Error: standard input")
    as_parquet = CliRunner().invoke(app, ["evaluate", "-", "--format", "parquet"], input="x")
    assert "name a file" in as_parquet.stderr


def test_a_run_goes_by_score_and_a_rank_that_disagrees_is_a_note(
    file: Callable[..., Path],
) -> None:
    """RR is 1 by score and a half by rank: which of them counts is said, with the option."""
    qrels = file("1 0 d1 1\n", "qrels.txt")
    ranking = file("1 Q0 d2 1 0.1 t\n1 Q0 d1 2 0.9 t\n", "bm25.run")

    def rr(*options: str) -> tuple[float, str]:
        done = run("evaluate", qrels, "--run", ranking, *options, "-m", "rr", "--json")
        (score,) = json.loads(done.stdout)["scores"]
        return score["measures"]["rr"]["mean"], done.stderr

    value, note = rr()
    assert value == 1.0
    assert note.startswith("Note: ")
    assert "change it with --order rank" in note
    assert rr("--order", "rank")[0] == 0.5


def test_json_is_all_that_is_printed(file: Callable[..., Path]) -> None:
    """--json prints one JSON value on standard output and nothing on standard error."""
    result = run("evaluate", file(SAMPLES), "--json")
    plain = json.loads(result.stdout)
    assert plain["complete"] is True
    assert plain["samples"] == 4
    assert result.stderr == ""


def test_quiet_prints_the_table_alone(file: Callable[..., Path]) -> None:
    """--quiet leaves out the notes and what was missed, not the table."""
    printed = run("evaluate", file(SAMPLES), "--quiet").stdout
    assert row_of(printed, "scored") == ["2"]
    assert printed.splitlines()[-1].split()[0] == "unscored"


def test_saved_rows_are_those_of_evaluate(file: Callable[..., Path], tmp_path: Path) -> None:
    """--output writes the report that `evaluate` would have returned."""
    path, saved = file(SAMPLES), tmp_path / "report.jsonl"
    assert run("evaluate", path, "--scorer", "id_recall", "--output", saved).exit_code == 0
    expected = evaluate(read(path), IdRecall())
    loaded = Report.load(saved)
    assert [row.results for row in loaded.rows] == [row.results for row in expected.rows]
    assert [row.sample for row in loaded.rows] == [row.sample for row in expected.rows]


BROKEN = {
    "malformed": ('{"id": "x",\n', ["line 5", "not JSON"]),
    "not an object": ("[1]\n", ["line 5"]),
    "unknown field": (
        '{"reterence": "x"}\n',
        ["line 5", "'reterence'", "did you mean 'reference'?", "--rename reterence="],
    ),
    "wrong value": (
        '{"reference_context_ids": "abc"}\n',
        ["line 5", "reference_context_ids", "['abc']"],
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
    """Who reads the JSON and not the exit code learns that the file was not read to its end."""
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
    "UTF-16": ('{"id": "x"}\n'.encode("utf-16"), "samples.jsonl", "UTF-16"),
    "binary": (bytes(range(256)), "samples.jsonl", "line 1"),
    "cut gzip": (b"\x1f\x8b\x08\x00", "samples.jsonl.gz", "truncated"),
    "no ending": ("{}\n", "samples", "--format"),
    "no parquet": ("no parquet", "samples.parquet", "not a Parquet file"),
    "csv of Python lists": (
        "retrieved_context_ids,reference_context_ids\n\"['a']\",\"['a']\"\n",
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
    """Samples in which the chosen scorers find no target: who found none, and what to try."""
    row = {"user_input": "q", "retrieved_contexts": ["a text"], "reference": "no name in it"}
    result = run("evaluate", file([row], "samples.jsonl"))
    assert result.exit_code == 2
    told = " ".join(result.stderr.split())
    assert "entity_recall: no targets in any sample; choose another with --scorer" in told
    assert "also possible here: --scorer claim_recall" in told
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
        "must be whole numbers of at least 1, such as 5 or 1,5,10, got '0'",
    ),
    "k no number": (["evaluate", "{file}", "--k", "many"], "--k"),
    "ks": (["evaluate", "{file}", "--ks", "1,0"], "--ks"),
    "measure": (["evaluate", "{file}", "--measure", "recal@5"], "no measure 'recal'"),
    "measure's k": (["evaluate", "{file}", "-m", "recall@0"], "k must be a whole number"),
    "measure's value": (["evaluate", "{file}", "-m", "ndcg(gain=log)"], "gain must be"),
    "measure's parameter": (["evaluate", "{file}", "-m", "recall(ks=3)"], "no parameter 'ks'"),
    "scorer": (["evaluate", "{file}", "--scorer", "id"], "no scorer 'id': did you mean id_recall?"),
    "no scorer": (["evaluate", "{file}", "--scorer", "rouge"], "choose one of id_recall, text_rec"),
    "threshold": (["evaluate", "{file}", "-s", "text_recall", "--threshold", "3"], "0 to 1, got 3"),
    "similarity": (["evaluate", "{file}", "-s", "text_recall", "--similarity", "soft"], "'soft'"),
    "threshold without text": (
        ["evaluate", "{file}", "-s", "id_recall", "--threshold", "0.3"],
        "--threshold: needs the scorer text_recall, got id_recall",
    ),
    "missed": (["evaluate", "{file}", "--missed", "-1"], "at least 0, got -1"),
    "rename": (["evaluate", "{file}", "--rename", "old"], "OLD=NEW"),
    "rename to no field": (["evaluate", "{file}", "--rename", "a=b"], "'b', which is not a field"),
    "rename twice": (["evaluate", "{file}", "--rename", "a=id", "--rename", "a="], "twice"),
    "format": (["evaluate", "{file}", "--format", "xml"], "'xml'"),
    "order without a run": (["evaluate", "{file}", "--order", "rank"], "--run"),
    "two files of qrels": (["evaluate", "{file}", "b", "--run", "{file}"], "expected one FILE"),
    "format of a run": (["evaluate", "{file}", "--run", "{file}", "--format", "csv"], "--format"),
    "output is the input": (
        ["evaluate", "{file}", "--output", "{file}"],
        "not be an input",
    ),
    "output nowhere": (["evaluate", "{file}", "--output", "{file}/x"], "no directory"),
    "demo deeper than retrieved": (
        ["demo", "--k", "9", "--depth", "5"],
        "not exceed --depth (5)",
    ),
    "demo of 0": (["demo", "--k", "0"], "at least 1, got 0"),
}


@pytest.mark.parametrize(("arguments", "said"), WRONG_USAGE.values(), ids=WRONG_USAGE.keys())
def test_wrong_usage_exits_with_2(
    file: Callable[..., Path], arguments: list[str], said: str
) -> None:
    """Wrong usage says what is meant, runs nothing and exits with 2."""
    path = file([TEXTS])
    before = path.read_bytes()
    result = run(*(argument.format(file=path) for argument in arguments))
    assert result.exit_code == 2
    told = " ".join(re.sub(r"[│╭╮╰╯─]", " ", result.stderr).split())
    assert said in told
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert path.read_bytes() == before


def test_a_file_that_is_no_report_is_not_overwritten(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    """A slip in --output costs no file; an earlier report is replaced."""
    path, precious, saved = file(SAMPLES), tmp_path / "notes.txt", tmp_path / "report.jsonl"
    precious.write_text("mine")
    assert run("evaluate", path, "--output", precious).exit_code == 2
    assert precious.read_text() == "mine"
    for _ in range(2):
        assert run("evaluate", path, "--output", saved).exit_code == 0
    assert len(Report.load(saved)) == 4


def test_an_earlier_report_outlives_an_unreadable_file(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    """The report is opened once there is something to write into it."""
    saved = tmp_path / "report.jsonl"
    run("evaluate", file(SAMPLES), "--output", saved)
    assert run("evaluate", tmp_path / "absent.jsonl", "--output", saved).exit_code == 2
    assert len(Report.load(saved)) == 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_full_disk_is_told(file: Callable[..., Path]) -> None:
    """When the report cannot be written, the scores are shown all the same, and why; exit 2."""
    result = run("evaluate", file(SAMPLES * 50), "--output", "/dev/full")
    assert result.exit_code == 2
    assert "No space left on device" in result.stderr
    assert row_of(result.stdout, "scored")


def test_a_missing_package_is_named_with_its_extra(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A format whose package is not installed says what to install; exit 2."""
    for module in ("pyarrow", "pyarrow.parquet"):
        monkeypatch.setitem(sys.modules, module, None)
    result = run("evaluate", file("", "samples.parquet"))
    assert result.exit_code == 2
    assert "  pip install pyarrow\n" in result.stderr


def test_texts_cannot_steer_the_terminal(file: Callable[..., Path]) -> None:
    """Control sequences and markup in a file are shown as text, or not at all."""
    row = {
        "id": "q\x1b]0;title\x07",
        "user_input": "red \x1b[31m and [bold]bold[/bold] :smile:\r\nand a second line",
        "retrieved_context_ids": ["a"],
        "reference_context_ids": ["b\x1b[2J"],
    }
    failed = {"reference_context_ids": ["a"], "retrieval": {"error": "[red]down[/red] \x1b[31m"}}
    printed = run("evaluate", file([row, failed])).stdout
    assert not [c for c in printed if not c.isprintable() and c != "\n"]
    assert "no retrieval: [red]down[/red] [31m" in " ".join(printed.split())
    assert "[bold]bold[/bold] :smile: and a second line" in " ".join(printed.split())


def test_a_long_path_is_not_broken(tmp_path: Path) -> None:
    """The path in an error can be copied, however narrow the terminal."""
    path = tmp_path / f"{'long' * 40}.jsonl"
    assert f"Error: {path}\n" in run("evaluate", path).stderr


@pytest.mark.parametrize("width", [40, 80, 120])
def test_output_keeps_to_the_width(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """No line is longer than the terminal is wide, with all scorers at once."""
    monkeypatch.setenv("COLUMNS", str(width))
    row = {**TEXTS, "user_input": "long " * 60, "reference": f"It is {'Verylongname ' * 20}"}
    result = run("evaluate", file([row]), "--k", 3)
    assert max(map(len, result.stdout.splitlines())) <= width


def test_repeated_ids_are_one_group(file: Callable[..., Path], tmp_path: Path) -> None:
    """The same samples twice are not twice as sure: read from what was saved, else refused."""
    once, saved = file(SAMPLES[:2]), tmp_path / "report.jsonl"
    intervals = {}
    for name, rows in {"once": SAMPLES[:2], "twice": SAMPLES[:2] * 2}.items():
        done = run("evaluate", file(rows, f"{name}.jsonl"), "--output", saved, "--json")
        (score,) = json.loads(done.stdout)["scores"]
        intervals[name] = score["measures"]["recall"]["interval"]
        assert score["scored"] == len(rows)
    assert intervals["once"] == intervals["twice"]
    refused = run("evaluate", tmp_path / "twice.jsonl")
    assert (refused.exit_code, refused.stdout) == (2, "")
    assert "save the report with --output REPORT.jsonl" in " ".join(refused.stderr.split())
    assert run("evaluate", once).exit_code == 0


def test_memory_does_not_grow_with_the_file(file: Callable[..., Path]) -> None:
    """Rows are let go once they are counted: forty times the samples need no more memory."""

    def peak(count: int) -> int:
        long = {**SAMPLES[0], "user_input": "why? " * 400}
        path = file([{**long, "id": str(n)} for n in range(count)])
        tracemalloc.start()
        assert run("evaluate", path, "--scorer", "id_recall").exit_code == 0
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1)  # loads what is loaded once
    assert peak(4_000) - peak(100) < 1_000_000  # the questions alone are 8,000,000 bytes


def test_colors_are_for_terminals(file: Callable[..., Path]) -> None:
    """What goes into a pipe has no escape sequences."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.run(
        command("evaluate", file(SAMPLES)), capture_output=True, env=environment, check=True
    )
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stderr == b""


def test_a_terminal_without_the_characters_gets_others(file: Callable[..., Path]) -> None:
    """An encoding that lacks dashes and boxes is no reason to fail."""
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        command("evaluate", file(SAMPLES), "--k", 5),
        capture_output=True,
        env=environment,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert b"d7 ? at rank 7" in done.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX pipes")
@pytest.mark.parametrize("options", [(), ("--json",)])
def test_a_reader_that_has_gone_is_no_error(
    file: Callable[..., Path], options: tuple[str, ...]
) -> None:
    """`fullrecall evaluate … | head -1` ends without a traceback, as any program would."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command("evaluate", file(SAMPLES), *options),
        stdout=writer,
        stderr=subprocess.PIPE,
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and named pipes")
def test_an_interrupt_shows_what_was_scored(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a file prints and saves the samples until then; exit 130."""
    pipe, saved = tmp_path / "samples.jsonl", tmp_path / "report.jsonl"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        command("evaluate", pipe, "--output", saved),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # More than pipe and buffers hold: once it is written, some of it has been scored.
    line = f"{json.dumps({**SAMPLES[0], 'user_input': 'why? ' * 200})}\n"
    with pipe.open("w") as feed:
        writing = threading.Thread(target=lambda: (feed.write(line * 1000), feed.flush()))
        writing.start()
        writing.join(timeout=60)
        process.send_signal(signal.SIGINT)
        printed, told = process.communicate(timeout=60)
    assert process.returncode == 130
    scored = int(row_of(printed, "scored")[0].replace(",", ""))
    assert scored > 0
    assert f"Scored {scored:,} samples before that" in " ".join(told.split())
    assert "Traceback" not in told
    assert len(Report.load(saved)) == scored


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

    monkeypatch.setattr(cli_job, "chosen", chosen)
    result = run("evaluate", file(SAMPLES))
    assert result.exit_code == 0
    assert "1 unscored in id_recall: id_recall raised RuntimeError: out of order" in " ".join(
        result.stdout.split()
    )


def test_k_means_the_same_in_every_command(file: Callable[..., Path], tmp_path: Path) -> None:
    """Whoever evaluates with --k compares, sums up, and gates against a baseline with it."""
    saved = tmp_path / "report.jsonl"
    run("evaluate", file(SAMPLES), "--output", saved)
    for command in (["compare", saved, saved], ["summary", saved]):
        by_k = run(*command, "--k", "3,1", "--json").stdout
        assert by_k == run(*command, "-m", "recall@1", "-m", "recall@3", "--json").stdout
        assert "recall@3" in by_k
        assert by_k != run(*command, "--json").stdout
        assert run(*command, "--k", 0).exit_code == 2
    gate = ["gate", saved, "--baseline", saved, "--margin", 1, "--json"]
    by_k = run(*gate, "--k", 3).stdout
    assert by_k == run(*gate, "--measure", "recall@3").stdout != run(*gate).stdout
    assert "needs --min-recall or --baseline" in run("gate", saved, "--k", 3).stderr
