"""Files that are not what was written: refused, by name, row, and column."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from fullrecall.distributed.parquet import manifest
from fullrecall.distributed.parquet.directory import Writer
from fullrecall.distributed.parquet.manifest import Manifest
from tests.distributed.parquet.made import parts_of, samples

from fullrecall import Gate, IdRecall, Report, TextRecall, compare, evaluate
from fullrecall.errors import ReportError
from fullrecall.measures import Recall
from fullrecall.report.signature import MANIFEST

pa = pytest.importorskip("pyarrow", reason="needs the parquet extra")
pq = pytest.importorskip("pyarrow.parquet", reason="needs the parquet extra")


def edited(folder: Path, change: Callable[[dict[str, list[Any]]], Any]) -> Path:
    """Change the columns of the second part, and have the manifest believe it."""
    path, old = parts_of(folder)[1], manifest.read(folder)
    table = pq.read_table(path)
    given = table.to_pydict()
    change(given)
    made = pa.table(given, schema=table.schema)
    pq.write_table(made, path)
    believe(folder, old, path)
    return path


def believe(folder: Path, old: Manifest, path: Path) -> None:
    """Put the digest of a file into the manifest, as whoever edits all of it can."""
    from hashlib import blake2b

    parts = [
        one
        if one.file != path.name
        else one.model_copy(
            update={
                "bytes": path.stat().st_size,
                "digest": blake2b(path.read_bytes(), digest_size=16).hexdigest(),
            }
        )
        for one in old.parts
    ]
    Manifest.of(old.as_methods, parts).write(folder)


def put(column: str, row: int, value: Any) -> Callable[[dict[str, list[Any]]], None]:
    """Return what puts a value into a cell."""

    def change(given: dict[str, list[Any]]) -> None:
        given[column][row] = value

    return change


def first_scored(given: dict[str, list[Any]]) -> int:
    """Return the first row with a score that is not 0."""
    return next(n for n, score in enumerate(given["id_recall_score"]) if score)


def wrong_score(given: dict[str, list[Any]]) -> None:
    """Raise a score over what its findings give."""
    given["id_recall_score"][first_scored(given)] = 0.123


def wrong_rank(given: dict[str, list[Any]]) -> None:
    """Have a target found beyond the last rank."""
    row = first_scored(given)
    retrieved, ranks, findings = json.loads(given["id_recall_found"][row])
    given["id_recall_found"][row] = json.dumps([retrieved, ranks, [[99]] * len(findings)])


def wrong_credit(given: dict[str, list[Any]]) -> None:
    """Give a credit above 1."""
    row = first_scored(given)
    retrieved, ranks, findings = json.loads(given["id_recall_found"][row])
    finding = {"ranks": [1], "steps": [[1, 1.5]]}
    given["id_recall_found"][row] = json.dumps([retrieved, ranks, [finding] * len(findings)])


@pytest.mark.parametrize(
    ("change", "field"),
    [
        (wrong_score, "id_recall_score"),
        (wrong_rank, "id_recall_found"),
        (wrong_credit, "id_recall_found"),
        (put("id_recall_status", 4, "perfect"), "id_recall_found"),
        (put("id_recall_status", 4, None), "id_recall_status"),
        (put("id_recall_found", 4, "{"), "id_recall_found"),
        (put("id_recall_found", 4, None), "id_recall_found"),
    ],
)
def test_values_that_no_run_gives_are_not_read(
    folder: Path, change: Callable[[dict[str, list[Any]]], Any], field: str
) -> None:
    """Also where the digest was made to fit: the error names file, row and column."""
    path = edited(folder, change)
    for act in (
        lambda report: report.summary(),
        lambda report: Gate(Recall >= 0.0, scores=["id_recall"]).check(report),
        lambda report: compare(report, report),
        list,
        lambda report: report.missed() and list(report.missed()),
        lambda report: report.to_html(),
    ):
        with pytest.raises(ReportError) as caught:
            act(Report.open(folder))
        message = str(caught.value)
        assert message.startswith(f"{path}: row "), message
        assert field in message or "results[0]" in message, message
    with pytest.raises(ReportError, match=f"{path.name}: row "):
        Report.load(folder)


@pytest.mark.parametrize(
    ("column", "value", "named"),
    [
        ("retrieved_context_ids", ["x"], "retrieved must be at most 1"),
        ("metadata", "[]", "metadata must be a JSON object"),
        ("rest", "{", "rest must be a JSON object"),
        ("id_recall_targets", 7, "targets must be"),
    ],
)
def test_wrong_samples_are_not_read(folder: Path, column: str, value: Any, named: str) -> None:
    """What no measure reads is checked when a row is."""

    def change(given: dict[str, list[Any]]) -> None:
        row = first_scored(given)
        while column == "retrieved_context_ids" and len(given[column][row] or ()) < 2:
            row += 1
        given[column][row] = value

    path = edited(folder, change)
    with pytest.raises(ReportError, match=f"{path.name}: row .*{named}"):
        list(Report.open(folder))


def test_a_flipped_byte_is_found(folder: Path) -> None:
    """Anywhere in any part, before anything of it is believed."""
    path = parts_of(folder)[1]
    content = path.read_bytes()
    for place in range(0, len(content), max(1, len(content) // 40)):
        path.write_bytes(content[:place] + bytes([content[place] ^ 0x40]) + content[place + 1 :])
        for act in (
            lambda report: Gate(Recall >= 0.0, scores=["id_recall"]).check(report),
            lambda report: report["q3"],
        ):
            with pytest.raises(ReportError, match=path.name):
                act(Report.open(folder))
    path.write_bytes(content)
    assert Report.open(folder).summary()


def test_an_edited_part_names_row_and_field(folder: Path) -> None:
    """Where its values cannot be, the row is named; else that the file is another one."""
    path = parts_of(folder)[1]
    table = pq.read_table(path)
    given = table.to_pydict()
    wrong_score(given)
    row = first_scored(table.to_pydict())
    pq.write_table(pa.table(given, schema=table.schema), path)
    adjust(folder, path)
    with pytest.raises(ReportError, match=rf"{path.name}: row {row + 1}: .*score must be"):
        Report.open(folder).summary()
    given = table.to_pydict()
    given["user_input"][0] = "what else?"
    pq.write_table(pa.table(given, schema=table.schema), path)
    adjust(folder, path)
    with pytest.raises(ReportError, match=f"{path.name} is not the file that was written"):
        Report.open(folder).summary()


def adjust(folder: Path, path: Path) -> None:
    """Have the manifest believe the size of a file, and nothing else."""
    old = manifest.read(folder)
    parts = [
        one.model_copy(update={"bytes": path.stat().st_size}) if one.file == path.name else one
        for one in old.parts
    ]
    Manifest.of(old.as_methods, parts).write(folder)


def test_a_part_that_is_gone_cut_or_moved_is_said(folder: Path) -> None:
    """A missing part, half of one, one in the place of another: the file is named."""
    one, two = parts_of(folder)[:2]
    first, second = one.read_bytes(), two.read_bytes()
    two.unlink()
    with pytest.raises(ReportError, match=f"{two.name} is missing, with 37 samples"):
        Report.open(folder)
    two.write_bytes(second[: len(second) // 2])
    with pytest.raises(ReportError, match=f"{two.name} must have {len(second):,} bytes"):
        Report.open(folder)
    two.write_bytes(first)
    one.write_bytes(second)
    with pytest.raises(ReportError, match=f"{one.name} "):
        Report.open(folder).summary()
    old = manifest.read(folder)
    sizes = [{"bytes": each.bytes, "digest": each.digest} for each in old.parts[:2]]
    swapped = [each.model_copy(update=of) for each, of in zip(old.parts, sizes[::-1], strict=False)]
    Manifest.of(old.as_methods, [*swapped, *old.parts[2:]]).write(folder)
    with pytest.raises(ReportError, match=r"must be part '000000' .*, got part '000001'"):
        Report.open(folder).summary()


def test_a_part_of_another_scorer_is_refused(folder: Path, tmp_path: Path) -> None:
    """Rows that were scored in another way are not mixed in, whatever the manifest says."""
    own = parts_of(folder)[1]
    other = evaluate(
        samples(random.Random(2), 40, repeats=0, groups=0),
        [IdRecall(name="id_recall"), TextRecall(threshold=0.9)],
        progress=False,
    )
    with Writer(tmp_path / "other.parquet", other.methods) as writer:
        for row in [*other][:37] * 2:
            writer.write(row)
    own.write_bytes(parts_of(tmp_path / "other.parquet")[1].read_bytes())
    believe(folder, manifest.read(folder), own)
    with pytest.raises(ReportError, match=f"{own.name} was scored in another way"):
        Report.open(folder).summary()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda plain: plain["parts"].append(plain["parts"][0]), "occurs 2"),
        (lambda plain: plain["parts"][0].update(file="../x"), "must be a name in this directory"),
        (lambda plain: plain.update(samples=7), "samples must be 200"),
        (lambda plain: plain.update(version=9), "version 9"),
        (lambda plain: plain.update(kind="x"), "is not the manifest"),
        (lambda plain: plain.pop("end"), "end is missing"),
        (lambda plain: plain["parts"][0].update(rows=-1), "rows must be"),
        (lambda plain: plain["methods"].clear(), "methods"),
    ],
)
def test_a_manifest_that_no_run_writes_is_not_read(
    folder: Path, change: Callable[[dict[str, Any]], Any], message: str
) -> None:
    """A part twice, counts that do not add up, a file elsewhere: refused, with a digest or not."""
    path = folder / MANIFEST
    plain = json.loads(path.read_text())
    del plain["digest"]
    change(plain)
    path.write_text(json.dumps({**plain, "digest": manifest._digest(plain)}))
    with pytest.raises(ReportError, match=f"{MANIFEST}: .*{message}"):
        Report.open(folder)
    path.write_text(json.dumps({**plain, "digest": "0" * 32}))
    with pytest.raises(ReportError, match=MANIFEST):
        Report.open(folder)


def test_an_edited_manifest_is_not_read(folder: Path) -> None:
    """Any edit is seen: that a stopped run was complete, or a half of the text."""
    path = folder / MANIFEST
    text = path.read_text()
    path.write_text(text.replace('"stopped": null', '"stopped": "a budget"'))
    with pytest.raises(ReportError, match="was edited"):
        Report.open(folder)
    for wrong in (text[: len(text) // 2], "", "[]", text.replace('"end"', '"samples"', 1)):
        path.write_text(wrong)
        with pytest.raises(ReportError, match=MANIFEST):
            Report.open(folder)
    path.unlink()
    with pytest.raises(ReportError, match="has no manifest"):
        Report.open(folder)
