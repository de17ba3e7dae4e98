"""`read` chooses the reader by the name, and for `.json` files by the content."""

from __future__ import annotations

import gzip
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.errors import InputError, ParameterError
from fullrecall.read import read

if TYPE_CHECKING:
    from conftest import UntilError, Write

LINE = '{"question": "q"}\n'
SAMPLE = Sample(user_input="q")


class TestFormats:
    """The file's ending decides the format; `format` overrides it."""

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.jsonl", LINE),
            ("A.JSONL", LINE),
            ("a.ndjson", LINE),
            ("a.json", f"[{LINE}]"),
            ("a.csv", "question\nq\n"),
            ("a.tsv", "question\tid\nq\t\n"),
            ("a.jsonl.gz", gzip.compress(LINE.encode(), mtime=0)),
            ("a.json.gz", gzip.compress(f"[{LINE}]".encode(), mtime=0)),
            ("a.csv.gz", gzip.compress(b"question\nq\n", mtime=0)),
            ("a.tsv.gz", gzip.compress(b"question\tid\nq\t\n", mtime=0)),
        ],
    )
    def test_by_ending(self, write: Write, name: str, content: str | bytes) -> None:
        """Every ending in the documentation is read."""
        assert list(read(write(name, content))) == [SAMPLE]

    def test_format_overrides_the_ending(self, write: Write) -> None:
        """`format` overrides the ending: Hugging Face's to_json writes JSON Lines into `.json`."""
        path = write("a.json", LINE * 2)
        assert list(read(path, format="jsonl")) == [SAMPLE] * 2

    def test_rename_is_passed_on(self, write: Write) -> None:
        """`rename` works as for the reader itself."""
        assert list(read(write("a.csv", "frage\nq\n"), rename={"frage": "question"})) == [SAMPLE]

    @pytest.mark.parametrize("name", ["a", "a.gz", "a.parquet.gz", "run.trec"])
    def test_unknown_endings(self, write: Write, name: str) -> None:
        """The error for an unknown ending lists the formats, and where TREC's two files go."""
        with pytest.raises(InputError, match=r"format=, one of jsonl.*read_trec\(qrels, run\)"):
            read(write(name, LINE))

    def test_unknown_formats(self, write: Write) -> None:
        """An unknown format is refused by name."""
        with pytest.raises(ParameterError, match="got 'xml'"):
            read(write("a.jsonl", LINE), format="xml")


class TestJsonArrays:
    """Errors in an array of rows name the row's line."""

    @pytest.mark.parametrize("text", ["[{0}]", " [\n{0},\n{0}\n]\n", "\ufeff[{0},{0},{0}]"])
    def test_rows(self, write: Write, text: str) -> None:
        """Line breaks and indents in an array make no difference."""
        rows = text.replace("{0}", LINE)
        assert list(read(write("a.json", rows))) == [SAMPLE] * text.count("{0}")

    @pytest.mark.parametrize(
        ("rest", "says"),
        [
            (',\n\n{"question": 3}]', "item 2: user_input: expected one str"),
            (",\n3]", "item 2: a row must be an object with named fields, got int 3"),
        ],
    )
    def test_a_row_that_is_no_sample_is_named_by_its_number(
        self, write: Write, until_error: UntilError, rest: str, says: str
    ) -> None:
        """The error names the row's number, after the rows before it are yielded."""
        before, error = until_error(read(write("a.json", f"[\n{LINE.strip()}{rest}")))
        assert before == [SAMPLE]
        assert error.problem.startswith(says)

    @pytest.mark.parametrize(
        ("rest", "line", "says"),
        [
            ("\n{}]", 3, "Expecting ',' delimiter"),
            ("\n", 3, "near the end"),
            ("]\n x", 3, "Extra data"),
            (',\n{"a": 1,\n "a": 2}]', None, "'a' occurs twice"),
        ],
    )
    def test_what_is_no_json_is_placed(
        self, write: Write, until_error: UntilError, rest: str, line: int | None, says: str
    ) -> None:
        """Invalid JSON in an array is an error with its place, after the rows before it."""
        before, error = until_error(read(write("a.json", f"[\n{LINE.strip()}{rest}")))
        assert before == [SAMPLE]
        assert error.line == line
        assert says in error.problem

    @pytest.mark.parametrize("text", ["", "[]", " \n", "[ ]"])
    def test_no_samples(self, write: Write, until_error: UntilError, text: str) -> None:
        """An empty file and an empty array hold no samples."""
        _, error = until_error(read(write("a.json", text)))
        assert "holds no samples" in error.problem

    @pytest.mark.parametrize(
        ("text", "says"),
        [
            ('{"rows": [], "x": 1}', "columns: rows, x"),
            ('{"retrieved_ids": [["a"]], "expected_ids": [["a"]]}', "['a'] is not an ID"),
            ('{"retrieved_ids": {"0": ["a"]}}', "expected a list, got dict"),
            ('{"question": ["q", "r"], "contexts": [["a"]]}', "user_input: expected one str"),
            ("3", "got int 3"),
            ('{"question": "q"', "near the end"),
            ('{"queries": {}}', "columns: queries"),
        ],
    )
    def test_what_was_found_is_named(
        self, write: Write, until_error: UntilError, text: str, says: str
    ) -> None:
        """The error names the expected form, the form found, and a likely fix."""
        _, error = until_error(read(write("a.json", text)))
        assert says in error.problem

    @pytest.mark.parametrize("text", [LINE, LINE * 2, f"\n{LINE}\n{LINE}", '{"question":\n "q"}'])
    def test_objects_without_an_array(self, write: Write, text: str) -> None:
        """An object is one sample, or one per line as Hugging Face's `to_json` writes them."""
        assert list(read(write("a.json", text))) == [SAMPLE] * text.count("question")

    def test_invalid_utf8_is_placed(self, write: Write, until_error: UntilError) -> None:
        """Invalid UTF-8 is an error with its line, in a file that is read as a whole too."""
        _, error = until_error(read(write("a.json", b'[\n{"question":\n "\xe9"}]')))
        assert error.line == 3
        assert "byte 0xe9 is not UTF-8" in error.problem


class TestSavedReports:
    """A saved report holds samples: to score them again, or to complete their references."""

    @pytest.mark.parametrize("name", ["report.jsonl", "report.parquet"])
    def test_the_samples_of_a_report(self, tmp_path: Path, name: str) -> None:
        """Every sample of a report is read, with its retrieved contexts."""
        samples = [
            Sample(id=f"q{n}", user_input="q", retrieved_ids=["a"], expected_ids=["b"])
            for n in range(3)
        ]
        evaluate(samples, IdRecall(), progress=False).save(tmp_path / name)
        assert list(read(tmp_path / name)) == samples
        with pytest.raises(ParameterError, match="rename= are for files of samples"):
            read(tmp_path / name, rename={"x": "id"})

    def test_a_directory_without_a_manifest_is_no_report(self, tmp_path: Path) -> None:
        """A directory without a manifest, or without the questions of BEIR, is not read."""
        (tmp_path / "qrels").mkdir()
        with pytest.raises(InputError, match="is a directory: name one file in it"):
            read(tmp_path)


def test_samples_that_were_taken_are_not_read_again(write: Write) -> None:
    """A caller may look at the first sample, and evaluate the rest."""
    path = write("a.csv", "retrieved_context_ids,reference_context_ids\na,a\nb,b\nc,c\n")
    rows = [Sample(retrieved_context_ids=[n], reference_context_ids=[n]) for n in "abc"]
    samples = read(path)
    assert next(samples) == rows[0]
    report = evaluate(samples, IdRecall(), progress=False)
    assert [row.sample for row in report] == rows[1:]


def test_importing_the_readers_loads_nothing_heavy() -> None:
    """pyarrow, pandas, datasets and NumPy load when a reader first needs them."""
    code = (
        "import sys, fullrecall.read\n"
        "heavy = {'pyarrow', 'pandas', 'datasets', 'numpy'} & sys.modules.keys()\n"
        "sys.exit(', '.join(heavy) or None)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
