"""`read_labels`: the file as people and spreadsheets change it, and refused files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from fullrecall import Label, Report
from fullrecall.errors import InputError
from fullrecall.read import read_labels


def written(path: Path, text: str, encoding: str = "utf-8") -> Path:
    """Write a text to a file, and return its path."""
    path.write_bytes(text.encode(encoding))
    return path


def test_what_is_written_is_read(report: Report, tmp_path: Path) -> None:
    """A drawing is read back with its items and probabilities, and without labels."""
    path = tmp_path / "labels.csv"
    drawn = report.to_label(9, path)
    assert read_labels(path) == tuple(
        Label(claim.sample, claim.claim, None, claim.probability, claim.item) for claim in drawn
    )


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16-le"])
def test_as_excel_saves_it(tmp_path: Path, encoding: str) -> None:
    """A byte order mark, semicolons, decimal commas, upper case, and short rows are read."""
    text = (
        "\ufeffLabel;Claim;item ;probability;rater\r\n"
        "Supported;A claim;c1;0,25;\r\n"
        ";;;;\r\n"
        "\r\n"
        "NOT SUPPORTED;'=1+1;c2;1;\r\n"
        "Partial;A third;c3;0,083333333\r\n"
        ";A fourth;c4;0,5;;;\r\n"
        "no;A fifth;c5;0,5;\r\n"
        "TRUE;A sixth;c6;0,5;\r\n"
    )
    labels = read_labels(written(tmp_path / "labels.csv", text, encoding))
    assert [label.label for label in labels] == [
        "supported",
        "not_supported",
        "partial",
        None,
        "not_supported",
        "supported",
    ]
    assert [label.item for label in labels] == ["c1", "c2", "c3", "c4", "c5", "c6"]
    assert [label.probability for label in labels] == [0.25, 1.0, 0.083333333, 0.5, 0.5, 0.5]
    assert labels[1].target == "=1+1"


def test_tabs_and_json_lines(tmp_path: Path) -> None:
    """A .tsv has tabs; JSON Lines may say true, false and null, and `target` for `claim`."""
    tabs = written(tmp_path / "a.tsv", "sample\tclaim\tlabel\nq1\tA, b\tyes\n")
    assert read_labels(tabs) == (Label("q1", "A, b", "supported"),)
    lines = [
        {"sample": "q1", "target": "A", "label": True},
        {"sample": "q1", "target": "B", "label": None, "probability": 0.5},
        {"item": "c3", "label": 0},
    ]
    path = written(tmp_path / "a.jsonl", "\n".join(map(json.dumps, lines)))
    assert read_labels(path) == (
        Label("q1", "A", "supported"),
        Label("q1", "B", None, 0.5),
        Label("", "", "not_supported", item="c3"),
    )


def test_each_file_is_a_rater(tmp_path: Path) -> None:
    """Each of several files is a rater, named by the file unless the file names the rater."""
    head = "item,label,rater\n"
    ann = written(tmp_path / "ann.csv", f"{head}c1,yes,\nc2,no,cleo\n")
    bob = written(tmp_path / "bob.csv", f"{head}c1,no,\n")
    assert [label.rater for label in read_labels(ann, bob)] == ["ann", "cleo", "bob"]
    assert [label.rater for label in read_labels(ann)] == ["", "cleo"]
    (tmp_path / "2").mkdir()
    twin = written(tmp_path / "2" / "ann.csv", f"{head}c1,no,\n")
    assert len({label.rater for label in read_labels(ann, twin)}) == 3


BAD = {
    "a word that is no label": ("item,label\nc1,maybe\n", 2, "got 'maybe'"),
    "a chance that is none": ("item,label,probability\nc1,yes,0\n", 2, "above 0 and at most 1"),
    "a percentage": ("item,label,probability\nc1,yes,8%\n", 2, "got '8%'"),
    "twice": ("item,label\nc1,yes\nc2,yes\nc1,no\n", 4, "labeled on line 2 already"),
    "no claim": ("item,sample,claim,label\n,q1,,yes\n", 2, "no claim named"),
    "no labels": ("item,verdict\nc1,yes\n", 1, "got item, verdict"),
    "no header": ("", 1, "got none"),
    "a column twice": ("item,label,Label\nc1,yes,no\n", 1, "'label' twice"),
    "too many cells": ("item,label\nc1,yes,and more\n", 2, "the row has 3 cells, the header 2"),
}


@pytest.mark.parametrize(("text", "line", "problem"), BAD.values(), ids=BAD.keys())
def test_what_is_no_label_is_refused(tmp_path: Path, text: str, line: int, problem: str) -> None:
    """An invalid label is an error that names the file, the line and the value."""
    path = written(tmp_path / "labels.csv", text)
    with pytest.raises(InputError, match=problem) as caught:
        read_labels(path)
    assert caught.value.path == str(path)
    assert caught.value.line == line


def test_json_lines_are_checked_too(tmp_path: Path) -> None:
    """JSON Lines with a row without a label, or a claim that is not a text, are an error."""
    path = written(tmp_path / "a.jsonl", '{"item": "c1", "verdict": "yes"}\n')
    with pytest.raises(InputError, match="no label: expected the field label, got item, verdict"):
        read_labels(path)
    path = written(tmp_path / "b.jsonl", '{"item": 7, "label": "yes"}\n')
    with pytest.raises(InputError, match="item must be a text, got 7"):
        read_labels(path)


def test_another_encoding_is_named(tmp_path: Path) -> None:
    """Excel's plain "CSV" is not UTF-8: the error says how to save it."""
    path = written(tmp_path / "a.csv", "item,label,claim\nc1,yes,Café\n", "cp1252")
    with pytest.raises(InputError, match=r"0xe9 is not UTF-8 \(after .*\): save the file as UTF-8"):
        read_labels(path)
    with pytest.raises(InputError, match="no such file"):
        read_labels(tmp_path / "missing.csv")
