"""One line of paths reads each common structure of golden sets, and most lines are guessed."""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import Any

import pytest

from fullrecall import Sample
from fullrecall.errors import FullrecallError, InputError
from fullrecall.files.containers import kind_of
from fullrecall.read import plan_of, read

FOLDER = Path(__file__).parents[1] / "golden" / "structures"
MANIFEST: list[dict[str, Any]] = [
    json.loads(line)
    for path in (
        FOLDER / "manifest.jsonl",
        FOLDER.parent / "written_later.jsonl",
        FOLDER.parent / "written_third.jsonl",
    )
    for line in path.read_text("utf-8").splitlines()
]
"""The structures in files of their own, and those that were written after the guess, in turn."""
PLANS: list[dict[str, Any]] = [
    json.loads(line) for line in (FOLDER.parent / "plans.jsonl").read_text("utf-8").splitlines()
]
"""The guessed plan of each structure; null for a folder, whose format is known."""
LEAST_GUESSED = 0.85
"""The least share of the structures whose columns settle the fields; others have `asks`."""


def source_of(structure: dict[str, Any], folder: Path) -> Path:
    """Return the path of a structure's file; a Parquet file is written from its rows."""
    path = FOLDER / str(structure["file"])
    if "text" in structure:
        (folder / path.name).write_text(structure["text"], encoding="utf-8")
        return folder / path.name
    if path.suffix != ".parquet":
        return path
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = json.loads((FOLDER / structure["rows_in"]).read_text("utf-8"))
    pq.write_table(pa.Table.from_pylist(rows), folder / path.name)
    return folder / path.name


def differences(samples: list[Sample], structure: dict[str, Any]) -> list[str]:
    """Return the fields of the first samples that are not as expected."""
    found = ["number"] * (len(samples) < len(structure["expected"]))
    for sample, expected in zip(samples, structure["expected"], strict=False):
        metadata = expected.get("metadata", {})
        wanted = Sample(**{name: value for name, value in expected.items() if name != "metadata"})
        fields = [name for name in Sample.names() if name != "metadata"]
        found += [name for name in fields if getattr(sample, name) != getattr(wanted, name)]
        found += [
            f"metadata.{key}"
            for key in metadata
            if str(sample.metadata.get(key)) != str(metadata[key])
        ]
    return found


@pytest.mark.parametrize("structure", MANIFEST, ids=lambda one: str(one["file"]))
def test_one_line_reads_each_structure(structure: dict[str, Any], tmp_path: Path) -> None:
    """One line of paths reads each structure; a known format is read by its columns."""
    options = (
        {}
        if structure["fields"] is None
        else {"rows": structure["rows"], "fields": structure["fields"]}
    )
    assert differences(list(read(source_of(structure, tmp_path), **options)), structure) == []


def test_most_lines_are_guessed_and_none_is_wrong_in_silence(tmp_path: Path) -> None:
    """A file is read as expected, or an error shows the plan; fields are never wrong silently."""
    guessed, asked, wrong = [], [], []
    for structure in MANIFEST:
        try:
            samples = list(read(source_of(structure, tmp_path)))
        except InputError as error:
            asked.append((structure["file"], error.problem))
        else:
            found = differences(samples, structure)
            (wrong if found else guessed).append(structure["file"])
    assert wrong == []
    settled = [each["file"] for each in MANIFEST if "asks" not in each]
    assert len({*settled} & {*guessed}) >= LEAST_GUESSED * len(settled)
    assert [
        problem for _, problem in asked if "read(" not in problem and "NAME" not in problem
    ] == []


@pytest.mark.parametrize("number", range(len(MANIFEST)), ids=lambda n: str(MANIFEST[n]["file"]))
def test_the_plan_of_each_structure(number: int, tmp_path: Path) -> None:
    """Each structure has the kept plan; a certain one prints as a line that reads the file."""
    path = source_of(MANIFEST[number], tmp_path)
    if path.is_dir():
        return
    plan = plan_of(path)
    kept = {
        "rows": plan.rows,
        "fields": dict(plan.fields),
        "doubts": [[each.field, each.why, [*each.paths]] for each in plan.doubts],
        "metadata": [*plan.metadata],
        "left_out": [*plan.left_out],
        "format": plan.format,
    }
    assert kept == PLANS[number]
    if plan.certain and plan.fields:
        again = read(path, rows=plan.rows, fields=plan.fields)
        assert list(again) == list(read(path))


def mutated(text: bytes, draw: random.Random) -> bytes:
    """Return a text with a few bytes, or pieces, changed."""
    data = bytearray(text)
    for _ in range(draw.randint(1, 4)):
        at = draw.randrange(len(data) + 1)
        piece = bytes(data[at : at + draw.randint(1, 30)])
        kind = draw.randrange(5)
        if kind == 0:
            del data[at : at + draw.randint(1, 12)]
        elif kind == 1:
            data[at:at] = draw.choice(TOKENS)
        elif kind == 2:
            data[at:at] = piece
        elif kind == 3 and at < len(data):
            data[at] = draw.randrange(256)
        else:
            to = draw.randrange(len(data) + 1)
            data[at : at + len(piece)] = b""
            data[to:to] = piece
    return bytes(data)


TOKENS = [
    *(
        b"null",
        b"[",
        b"]",
        b"{",
        b"}",
        b'"',
        b",",
        b":",
        b"\n",
        b"0",
        b"-1",
        b"1e9",
        b"true",
        b"{}",
    ),
    *(b"[]", b'{"question": 1}', b"'", b"&a ", b"*a", b"<<: ", b"- ", b"[[1, 2]]", b"\xff", b"\0"),
    *(b'"a.b[c]{d}"', b"question", b"expected_ids", b"contexts", b"answer"),
]


def test_no_mutation_of_a_file_ends_in_a_traceback(tmp_path: Path) -> None:
    """A changed file is read, or raises an input error, soon and without another exception.

    `FULLRECALL_MUTATIONS` sets the number of files.
    """
    count = int(os.environ.get("FULLRECALL_MUTATIONS", "200"))
    draw = random.Random(47)
    files = [path for path in sorted(FOLDER.iterdir()) if path.is_file() and kind_of(path.name)]
    texts = [(path, path.read_bytes()) for path in files if path.name != "manifest.jsonl"]
    for number in range(count):
        path, text = draw.choice(texts)
        broken = tmp_path / f"{number % 50}{path.suffix}"
        broken.write_bytes(mutated(text, draw))
        try:
            list(read(broken))
        except FullrecallError:
            continue
        except Exception as error:  # noqa: BLE001 - the failure says which file it was
            pytest.fail(f"{path.name}: {error!r} for {broken.read_bytes()!r}")


def test_a_plan_names_the_columns_that_become_metadata(tmp_path: Path) -> None:
    """Columns that no field uses are metadata, without those that are left out."""
    file = tmp_path / "golden.json"
    rows = [{"question": f"why {n}?", "expected_ids": ["d1"], "kind": "x", "junk": n} for n in "ab"]
    file.write_text(json.dumps(rows))
    plan = plan_of(file)
    assert (list(plan.metadata), list(plan.left_out)) == (["kind", "junk"], [])
    (first, _) = read(file, rename={"junk": None})
    assert first.metadata == {"kind": "x"}


def test_a_flag_that_a_row_lacks_says_nothing(tmp_path: Path) -> None:
    """Only a given flag decides whether a question is answerable, not a missing or null flag."""
    file = tmp_path / "squad.json"
    flags: list[dict[str, object]] = [{"is_bad": True}, {"is_bad": False}, {}, {"is_bad": None}]
    asked = {"question": "why?", "expected_ids": ["d1"]}
    rows = [{**asked, **flag} for flag in flags]
    file.write_text(json.dumps(rows))
    samples = read(file, fields={"answerable": "!is_bad"})
    assert [sample.answerable for sample in samples] == [False, True, None, None]
