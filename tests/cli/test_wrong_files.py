"""Every argument that names a file, given each kind of file that it cannot be."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.cli.command_line import SAMPLES, run

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "evaluate": ("evaluate", "{bad}"),
    "evaluate --references": ("evaluate", "{good}", "--references", "{bad}"),
    "evaluate --run": ("evaluate", "{qrels}", "--run", "{bad}"),
    "evaluate, qrels": ("evaluate", "{bad}", "--run", "{good}"),
    "evaluate --id-key": ("evaluate", "{bad}", "--id-key", "source"),
    "evaluate --store": ("evaluate", "{good}", "--store", "{bad}"),
    "evaluate --output": ("evaluate", "{good}", "--output", "{bad}"),
    "summary": ("summary", "{bad}"),
    "compare, before": ("compare", "{bad}", "{report}"),
    "compare, after": ("compare", "{report}", "{bad}"),
    "gate": ("gate", "{bad}", "--min-recall", "0.5"),
    "gate --baseline": ("gate", "{report}", "--baseline", "{bad}", "--margin", "0.1"),
    "diagnose": ("diagnose", "{bad}"),
    "diagnose --corpus": ("diagnose", "{report}", "--corpus", "{bad}"),
    "judge label": ("judge", "label", "{bad}", "-n", "3", "--output", "{folder}/labels.csv"),
    "judge calibrate": ("judge", "calibrate", "{bad}", "{good}"),
    "page": ("page", "{bad}", "--output", "{folder}/page.html"),
    "testset check": ("testset", "check", "{bad}", "{folder}"),
    "testset complete": ("testset", "complete", "{bad}", "--retrieved", "{good}"),
    "testset review": ("testset", "review", "{bad}", "--output", "{folder}/sheet.html"),
}

FILES: Mapping[str, bytes | str | None] = {
    "absent": None,
    "directory": None,
    "name too long": None,
    "binary": bytes(range(256)),
    "not UTF-8": '{"id": "café"}\n'.encode("latin-1"),
    "other fields": '{"foo": 1, "bar": 2}\n',
    "wrong types": '{"id": {"a": 1}, "user_input": 3, "retrieved_context_ids": 5}\n',
    "array": "[]\n",
    "cut off": '{"id": "q1", "retrieved',
    "not Parquet": b"PAR1 and no more",
}

MADE = {"evaluate --store", "evaluate --output"}
"""These make a file where there is none."""


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, str]:
    """Return a file of samples, a report of them, and judgments of relevance."""
    folder = tmp_path_factory.mktemp("good")
    samples, report, qrels = (folder / name for name in ("a.jsonl", "report.jsonl", "qrels.txt"))
    qrels.write_text("q1 0 d1 1\n")
    samples.write_text("".join(f"{json.dumps(row)}\n" for row in SAMPLES))
    assert run("evaluate", samples, "--output", report).exit_code == 0
    return {"good": str(samples), "report": str(report), "qrels": str(qrels)}


@pytest.fixture
def bad(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that makes a file of a kind and returns its path."""

    def made(kind: str) -> Path:
        content = FILES[kind]
        path = tmp_path / ("bad.parquet" if kind == "not Parquet" else "bad.jsonl")
        if kind == "directory":
            path = tmp_path / "folder"
            path.mkdir()
            (path / "notes.txt").write_text("mine")
        elif kind == "name too long":
            path = tmp_path / f"{'x' * 300}.jsonl"
        elif isinstance(content, bytes):
            path.write_bytes(content)
        elif content is not None:
            path.write_text(content, encoding="utf-8")
        return path

    return made


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        (name, kind)
        for name in COMMANDS
        for kind in FILES
        if not (kind == "absent" and name in MADE)
        if not (kind == "directory" and name == "diagnose --corpus")  # This argument takes folders.
    ],
)
def test_a_wrong_file_is_one_message(
    good: Mapping[str, str], bad: Callable[[str], Path], tmp_path: Path, name: str, kind: str
) -> None:
    """A wrong file exits with 2 and one block that names the file, and changes no file."""
    path = bad(kind)
    before = path.read_bytes() if kind not in ("absent", "directory", "name too long") else None
    places: dict[str, Any] = {"bad": path, "folder": tmp_path, **good}
    done = run(*(argument.format(**places) for argument in COMMANDS[name]))
    told = "".join(done.stderr.split())
    assert done.exit_code == 2, done.output
    assert done.stderr.count("Error: ") == 1
    assert "".join(str(path).split()) in told or path.name in told
    assert done.stdout == "" or name == "evaluate --store"
    assert "Traceback" not in done.output
    if before is not None:
        assert path.read_bytes() == before
