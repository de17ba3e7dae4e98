"""Edits of saved reports are refused, or change no number."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.files.reports.edits import SCORERS, Edit, edited, edits, report
from tests.files.reports.sealing import sealed

from fullrecall import Report
from fullrecall.errors import ReportError
from fullrecall.measures import AP, RR, Hit, Measure, Precision, Recall, nDCG

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")

MEASURES: tuple[Measure, ...] = (Recall, Recall @ 1, Hit @ 2, Precision @ 2, nDCG @ 3, RR, AP)
FEWEST = {"ids": 25} | dict.fromkeys(("questions", "judged precision"), 30)
"""The fewest kinds of edit of each scorer's results (default 40); half as many for columns."""


def numbers(loaded: Report) -> list[Any]:
    """Return all numbers of a report."""
    values = [loaded.values(measure).tolist() for measure in MEASURES]
    return [*values, loaded.table.status(0).tolist(), loaded.table.ids]


def unchanged(path: Path, before: list[Any]) -> bool:
    """Return whether a file is refused, or has the same numbers as before."""
    try:
        after = numbers(Report.load(path))
    except ReportError as error:
        return str(path) in str(error) and len(str(error)) < 900
    return all(
        np.array_equal(one, other, equal_nan=index < len(MEASURES))
        for index, (one, other) in enumerate(zip(after, before, strict=True))
    )


def saved(name: str, path: Path) -> tuple[list[Any], list[Any]]:
    """Return the lines of a scorer's report without its foot, and its numbers."""
    report(name).save(path)
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return lines[:-1], numbers(Report.load(path))


def one_of_each_kind(every: Iterable[tuple[int, Edit]]) -> Iterable[tuple[int, Edit]]:
    """Return an edit of each kind, of the last row that has it."""
    return {edit.kind: (row, edit) for row, edit in every}.values()


def edited_rows(lines: Sequence[Any]) -> list[tuple[Edit, list[Any]]]:
    """Return edits of results, and the lines that each makes."""
    every = (
        (row, edit)
        for row, line in enumerate(lines[1:], start=1)
        for edit in edits(line["results"][0], ("results", 0))
    )
    return [
        (edit, [*lines[:row], edited(lines[row], edit), *lines[row + 1 :]])
        for row, edit in one_of_each_kind(every)
    ]


@pytest.mark.parametrize("name", SCORERS)
def test_each_edit_of_a_result(name: str, tmp_path: Path) -> None:
    """A result that does not follow from its sample is refused, even under a digest that fits."""
    path = tmp_path / "report.jsonl"
    lines, before = saved(name, path)
    kinds: Counter[str] = Counter()
    wrong = []
    for edit, changed in edited_rows(lines):
        path.write_text(sealed(changed), "utf-8")
        kinds[edit.kind] += 1
        if not unchanged(path, before):
            wrong.append(edit.kind)
    assert wrong == []
    assert len(kinds) >= FEWEST.get(name, 40)


@pytest.mark.rooms
@pytest.mark.parametrize("name", ["ids", "spans", "claims", "a panel"])
def test_each_edit_under_the_digest_that_was_written(name: str, tmp_path: Path) -> None:
    """`gate` refuses any edit of a sample that leaves the old digest."""
    from tests.cli.command_line import run

    path = tmp_path / "report.jsonl"
    lines, _ = saved(name, path)
    foot = path.read_text("utf-8").splitlines()[-1]
    passed = []
    for edit in edits(lines[1]["sample"], ("sample",)):
        texts = [*map(json.dumps, (lines[0], edited(lines[1], edit), *lines[2:])), foot, ""]
        path.write_text("\n".join(texts), "utf-8")
        done = run("gate", path, "--min-recall", "0.1")
        if done.exit_code != 2 or "Traceback" in done.output:
            passed.append(edit.kind)
    assert passed == []


@pytest.mark.parametrize("name", SCORERS)
def test_no_edit_of_the_head_turns_the_proof_off(name: str, tmp_path: Path) -> None:
    """Parameters that no scorer has are refused, since they could stop the check of the results."""
    path = tmp_path / "report.jsonl"
    lines, before = saved(name, path)
    method = lines[0]["methods"][0]
    heads = [
        {**method, "parameters": {**method["parameters"], field: value}}
        for field in (*method["parameters"], "another")
        for value in (None, -1, 7, "", [], {})
    ] + [
        {**method, "parameters": {own: method["parameters"][own] for own in kept}}
        for field in method["parameters"]
        for kept in [method["parameters"].keys() - {field}]
    ]
    heads += [{**method, "headline": headline} for headline in ("rr", "hit@1", "ndcg")]
    passed = []
    for head in heads:
        changed = [{**lines[0], "methods": [head]}, *map(all_found_at_first, lines[1:])]
        path.write_text(sealed(changed), "utf-8")
        if not unchanged(path, before):
            passed.append(head)
    assert passed == [head for head in passed if head["parameters"].get("similarity") == ""]


def all_found_at_first(line: Any) -> Any:
    """Return a row whose targets are all found at rank 1, if the sample has contexts."""
    result = line["results"][0]
    if result["status"] != "scored" or not result.get("retrieved"):
        return line
    at_first = {"steps": [[1, 1.0]], "ranks": [1]}
    findings = [{**finding, **at_first} for finding in result["findings"]]
    return {**line, "results": [{**result, "score": 1.0, "findings": findings}]}


LINES = {
    "removed": lambda lines: [*lines[:1], *lines[2:]],
    "twice": lambda lines: [*lines, lines[1]],
    "in another order": lambda lines: [lines[0], *lines[:0:-1]],
    "a foot that says stopped": lambda lines: lines,
}


@pytest.mark.parametrize("change", LINES.values(), ids=LINES)
def test_lines(change: Any, tmp_path: Path) -> None:
    """Removed, repeated, and moved lines are refused: the digest in the foot covers all lines."""
    path = tmp_path / "report.jsonl"
    lines, _ = saved("ids", path)
    foot = json.loads(path.read_text("utf-8").splitlines()[-1])
    changed = change(lines)
    if changed == lines:
        foot["stopped"] = "it was stopped"
    foot["samples"] = len(changed) - 1
    path.write_text("".join(f"{json.dumps(line)}\n" for line in (*changed, foot)), "utf-8")
    with pytest.raises(ReportError, match="was changed after it was written"):
        Report.load(path)


@pytest.mark.long
@pytest.mark.parametrize("name", SCORERS)
def test_each_cell_of_a_column(name: str, tmp_path: Path) -> None:
    """A column that contradicts its sample is refused; a row without a status is missing."""
    path = tmp_path / "report.parquet"
    report(name).save(tmp_path / "saved.parquet")
    table, before = pq.read_table(tmp_path / "saved.parquet"), numbers(report(name))
    score = report(name).methods[0].name
    wrong, tried = [], 0
    for column in (one for one in table.column_names if one.startswith(score)):
        cells = table[column].to_pylist()
        for _, edit in one_of_each_kind((0, edit) for edit in edits(cells) if edit.path):
            try:
                changed = pa.array(edited(cells, edit), table.schema.field(column).type)
            except (pa.ArrowInvalid, pa.ArrowTypeError):
                continue  # No file can hold this value.
            if len(changed) != len(table):
                continue
            index = table.column_names.index(column)
            pq.write_table(table.set_column(index, column, changed), path)
            tried += 1
            if not unchanged(path, before) and Report.load(path).complete:
                wrong.append(f"{column}: {edit.kind}")
    assert wrong == []
    assert tried >= 15


FOREIGN = ("", "x", "null", "[1]", "1", '"a"', "[null]", "[" * 3_000, '{"contexts": 1}')
"""Texts that are not a JSON object, or not one of a report."""


@pytest.mark.parametrize("read", [Report.load, Report.open], ids=["load", "open"])
@pytest.mark.parametrize("name", ["ids", "claims"])
def test_foreign_texts_in_columns(name: str, read: Any, tmp_path: Path) -> None:
    """Foreign JSON in a manifest is refused; in a cell it is read, or raises a `ReportError`."""
    path, saved = tmp_path / "report.parquet", tmp_path / "saved.parquet"
    report(name).save(saved)
    table = pq.read_table(saved)
    texts = [each.name for each in table.schema if pa.types.is_string(each.type)]
    for text in FOREIGN:
        (saved / "_manifest.json").write_text(text, "utf-8")
        with pytest.raises(ReportError, match="is not a manifest of a report"):
            read(saved)
        for column in texts:
            cells = pa.array([text, *table[column].to_pylist()[1:]], pa.string())
            index = table.column_names.index(column)
            pq.write_table(table.set_column(index, column, cells), path)
            read_or_refused(path, read)


@pytest.mark.parametrize("cells", [[1], [1.5], [True], [[1]], [{"a": 1}]], ids=str)
def test_columns_of_other_types(cells: list[Any], tmp_path: Path) -> None:
    """A column of another type is read as texts, or refused."""
    path = tmp_path / "report.parquet"
    report("claims").save(tmp_path / "saved.parquet")
    table = pq.read_table(tmp_path / "saved.parquet")
    for index, column in enumerate(table.column_names):
        pq.write_table(table.set_column(index, column, pa.array(cells * len(table))), path)
        read_or_refused(path, Report.load)
        read_or_refused(path, Report.open)


def read_or_refused(path: Path, read: Any) -> None:
    """Read all rows of a file; allow `ReportError` and no other error."""
    with suppress(ReportError):
        opened = read(path)
        opened.summary()
        assert len(list(opened)) == len(opened.table.ids)
