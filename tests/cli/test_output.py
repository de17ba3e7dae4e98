"""Results are printed and saved completely, to terminals, pipes, and files, and at an early end."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import SAMPLES, TEXTS, command, row_of, run

from fullrecall import IdRecall, Report, evaluate
from fullrecall.cli import job
from fullrecall.errors import RunStopped
from fullrecall.judge.usage import Spent
from fullrecall.read import read


def test_json_is_all_that_is_printed(file: Callable[..., Path]) -> None:
    """--json prints one JSON value on standard output and nothing on standard error."""
    result = run("evaluate", file(SAMPLES), "--json")
    plain = json.loads(result.stdout)
    assert plain["complete"] is True
    assert plain["samples"] == 4
    assert result.stderr == ""


def test_quiet_prints_the_table_alone(file: Callable[..., Path]) -> None:
    """--quiet leaves out the notes and the missed targets, not the table."""
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


def test_a_file_that_is_no_report_is_not_overwritten(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    """--output refuses to overwrite a file that is no report; a report needs --replace."""
    path, precious, saved = file(SAMPLES), tmp_path / "notes.txt", tmp_path / "report.jsonl"
    precious.write_text("mine")
    assert run("evaluate", path, "--output", precious).exit_code == 2
    assert precious.read_text() == "mine"
    for more in ((), (), ("--replace",)):
        assert run("evaluate", path, "--output", saved, *more).exit_code == 0
    other = run("evaluate", path, "--output", saved, "--scorer", "text_recall")
    assert other.exit_code == 2
    assert "pass --replace to replace it" in " ".join(other.stderr.split())
    assert run("evaluate", path, "--output", precious, "--replace").exit_code == 2
    assert precious.read_text() == "mine"
    assert len(Report.load(saved)) == 4


def test_an_earlier_report_outlives_an_unreadable_file(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    """An earlier report is kept if the input is unreadable."""
    saved = tmp_path / "report.jsonl"
    run("evaluate", file(SAMPLES), "--output", saved)
    assert run("evaluate", tmp_path / "absent.jsonl", "--output", saved).exit_code == 2
    assert len(Report.load(saved)) == 4


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


@pytest.mark.parametrize("width", [40, 80, 120])
def test_output_keeps_to_the_width(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch, width: int
) -> None:
    """No line is longer than the terminal is wide, with all scorers at once."""
    monkeypatch.setenv("COLUMNS", str(width))
    row = {**TEXTS, "user_input": "long " * 60, "reference": f"It is {'Verylongname ' * 20}"}
    result = run("evaluate", file([row]), "--k", 3)
    assert max(map(len, result.stdout.splitlines())) <= width


@pytest.mark.long
def test_memory_does_not_grow_with_the_file(
    file: Callable[..., Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Written rows are not kept: fifteen times the samples need no more memory."""
    monkeypatch.setattr("fullrecall._util.pieces._LARGEST", 100)
    monkeypatch.setattr("fullrecall.files.reports.parquet.GROUP_ROWS", 100)
    monkeypatch.setattr("fullrecall.files.reports.parquet.ParquetWriter.together", 100)

    def peak(count: int) -> int:
        long = {**SAMPLES[0], "user_input": "why? " * 400}
        path = file([{**long, "id": str(n)} for n in range(count)])
        tracemalloc.start()
        output = ("--output", tmp_path / f"{count}.parquet")
        assert run("evaluate", path, "--scorer", "id_recall", *output).exit_code == 0
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    peak(1)  # This run loads the modules.
    # The questions alone are 3,000,000 bytes; some hundred samples are read and scored together.
    assert peak(1_500) - peak(100) < 1_500_000


def test_colors_are_for_terminals(file: Callable[..., Path]) -> None:
    """Output into a pipe has no escape sequences."""
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"}
    done = subprocess.run(
        command("evaluate", file(SAMPLES)), capture_output=True, env=environment, check=True
    )
    assert b"\x1b" not in done.stdout + done.stderr
    assert done.stderr == b""


def test_a_terminal_without_the_characters_gets_others(file: Callable[..., Path]) -> None:
    """A terminal without dashes and boxes in its encoding gets other characters."""
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
@pytest.mark.parametrize(("options", "code"), [((), 141), (("--help",), 1)])
def test_a_reader_that_has_gone_is_no_error(
    file: Callable[..., Path], options: tuple[str, ...], code: int
) -> None:
    """`fullrecall evaluate … | head -1` ends without a traceback, as any program would."""
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(
        command("evaluate", file(SAMPLES), *options),
        stdout=writer,
        stderr=subprocess.PIPE,
        env={name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"},
        check=False,
    )
    os.close(writer)
    assert (done.returncode, done.stderr) == (code, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals and named pipes")
def test_an_interrupt_shows_what_was_scored(tmp_path: Path) -> None:
    """Ctrl-C in the middle of a file prints and saves the samples scored until then; exit 130."""
    pipe, saved = tmp_path / "samples.jsonl", tmp_path / "report.jsonl"
    os.mkfifo(pipe)
    process = subprocess.Popen(
        command("evaluate", pipe, "--output", saved),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    # The rows are more than pipe and buffers hold: once they are written, some have been scored.
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


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_after_the_output_leaves_no_traceback() -> None:
    """Ctrl-C while Python shuts down ends the process, which has printed everything."""
    at_exit = "import atexit, os, signal; atexit.register(os.kill, os.getpid(), signal.SIGINT); "
    start = at_exit + command()[-1]
    done = subprocess.run([sys.executable, "-c", start, "-h"], capture_output=True, check=False)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, b"")
    assert b"Usage: fullrecall" in done.stdout


@pytest.mark.long
@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_an_interrupt_at_any_moment_leaves_no_traceback(
    file: Callable[..., Path], tmp_path: Path
) -> None:
    """Ctrl-C leaves no traceback while modules load, rows are scored, or Python exits."""
    path = file(SAMPLES[:3] * 500)
    start = "from fullrecall.cli import main; print('ready', flush=True); main()"
    for attempt in range(3 * int(os.environ.get("FULLRECALL_RUNS", "1"))):
        saved = tmp_path / f"report{attempt}.jsonl"
        with subprocess.Popen(
            [sys.executable, "-c", start, "evaluate", str(path), "--output", str(saved)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "ready\n"
            time.sleep(random.uniform(0, 1))
            process.send_signal(signal.SIGINT)
            _, told = process.communicate(timeout=120)
        assert process.returncode in (0, 130, -signal.SIGINT)
        assert "Traceback" not in told
        assert "Exception ignored" not in told


def test_what_a_run_spent_is_told_though_it_scored_nothing(
    file: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that ends before its first row still prints its requests and the reason."""

    def stopping(_: Any, scorers: Any, **__: Any) -> Report:
        stopped = RunStopped("no such model")
        stopped.report = Report([scorer.method for scorer in scorers])
        stopped.report.spent = Spent(calls=7)
        stopped.report.stopped = "no such model"
        raise stopped

    monkeypatch.setattr(job, "evaluate", stopping)
    result = run("evaluate", file(SAMPLES), "--json")
    printed = json.loads(result.stdout)
    assert result.exit_code == 2
    assert printed["spent"]["calls"] == 7
    assert printed["complete"] is False
    assert "no such model" in result.stderr
