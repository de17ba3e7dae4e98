"""CSV: JSON in list cells, quoting, delimiters, and line numbers of the file."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd
import pytest

from fullrecall import Sample
from fullrecall.errors import InputError
from fullrecall.files import text_files
from fullrecall.read import read

if TYPE_CHECKING:
    from conftest import UntilError, Write

HEADER = "question,contexts,reference_ids\n"


class TestCells:
    """A cell is a text or a JSON list, depending on the field that its column means."""

    def test_lists_are_json(self, write: Write) -> None:
        """Arrays, graded objects, and any-of groups are read as in JSON Lines."""
        path = write(
            "a.csv",
            HEADER
            + 'q,"[""a"", {""id"": ""d1"", ""text"": ""b""}]","{""d1"": 3, ""d2"": 1}"\n'
            + 'q,[],"[[""a"", ""b""], [""c""]]"\n',
        )
        assert list(read(path)) == [
            Sample(
                user_input="q",
                retrieved_contexts=["a", {"id": "d1", "text": "b"}],
                reference_context_ids={"d1": 3, "d2": 1},
            ),
            Sample(
                user_input="q", retrieved_contexts=[], reference_context_ids=[["a", "b"], ["c"]]
            ),
        ]

    def test_an_empty_cell_is_not_given(self, write: Write) -> None:
        """An empty cell leaves the field out, which is not the empty list."""
        assert list(read(write("a.csv", HEADER + "q,,\n"))) == [Sample(user_input="q")]

    def test_text_fields_are_taken_as_they_stand(self, write: Write) -> None:
        """A question that looks like JSON is read as text, and IDs keep their leading zeros."""
        path = write("a.csv", 'id,question\n007,"[""a""]"\n')
        assert list(read(path)) == [Sample(id="007", user_input='["a"]')]

    @pytest.mark.parametrize(
        ("column", "cell"),
        [
            ("contexts", "d 1;d 2"), ("retrieved_ids", "null"), ("expected_texts", "d1,d2;d3"),
            ("reference_ids", "['a' 'b']"), ("reference_claims", "[a]"),
        ],
    )  # fmt: skip
    def test_a_list_that_may_mean_another_is_an_error(
        self, write: Write, until_error: UntilError, column: str, cell: str
    ) -> None:
        """An ambiguous list is an error at its line and column.

        Python's `['a' 'b']`, which pandas writes, would even read as one item `ab`.
        """
        path = write("a.csv", f'id,{column}\n1,\n2,"{cell}"\n')
        before, error = until_error(read(path))
        assert before == [Sample(id="1")]
        assert (error.path, error.line, error.field) == (str(path), 3, column)
        assert 'expected a JSON array such as ["a", "b"]' in error.problem
        assert repr(cell) in error.problem

    @pytest.mark.parametrize(
        ("cell", "ids"),
        [
            ("d1", ["d1"]), ("7", ["7"]), ("d1;d2", ["d1", "d2"]), ("d1 | d2", ["d1", "d2"]),
            ("d1, d2", ["d1", "d2"]), ("['d1', 'd2']", ["d1", "d2"]), ("[1, 2]", ["1", "2"]),
            ("['a;b']", ["a;b"]), ("[['a', 'b'], ['c']]", [["a", "b"], ["c"]]),
        ],
    )  # fmt: skip
    def test_ids_may_be_separated_or_pythons(self, write: Write, cell: str, ids: list[Any]) -> None:
        """IDs may have one kind of separator and no spaces, or be a list as Python prints it."""
        path = write("a.csv", f'id,reference_ids\n1,"{cell}"\n')
        assert list(read(path)) == [Sample(id="1", reference_context_ids=ids)]

    def test_the_columns_of_ragas_as_pandas_writes_them(self, write: Write) -> None:
        """`to_csv` prints lists as Python does; a text may have quotes and commas."""
        rows = [
            {
                "user_input": "q", "reference": "r",
                "reference_contexts": ["It's \"one\", she said.", "two, three"],
                "retrieved_contexts": ["a\nb"], "synthesizer_name": "single_hop",
            }
        ]  # fmt: skip
        path = write("a.csv", pd.DataFrame(rows).to_csv(index=False))
        (sample,) = read(path)
        assert [group[0].text for group in sample.reference_contexts] == rows[0][
            "reference_contexts"
        ]
        assert sample.retrieved_contexts[0].text == "a\nb"

    def test_a_renamed_column_is_judged_by_its_field(
        self, write: Write, until_error: UntilError
    ) -> None:
        """Whether a cell is a list follows from the field, not from the file's name for it."""
        path = write("a.csv", "gold\n[d1\n")
        _, error = until_error(read(path, rename={"gold": "reference_ids"}))
        assert error.field == "gold"
        assert list(read(path, rename={"gold": "reference"})) == [Sample(reference="[d1")]

    @pytest.mark.parametrize("cell", ['["d1", "d2"]', "['d1', 'd2']", "[1, 2]"])
    def test_a_list_is_no_answer(self, write: Write, until_error: UntilError, cell: str) -> None:
        """A column named as an answer may hold IDs; a list with a single text is the answer."""
        rows = [["Ground Truth"], [cell]]
        path = write("a.csv", pd.DataFrame(rows[1:], columns=rows[0]).to_csv(index=False))
        _, error = until_error(read(path))
        assert "Ground Truth may hold IDs" in error.problem
        assert list(read(write("b.csv", "ground_truths\n\"['It is.']\"\n"))) == [
            Sample(reference="It is.")
        ]

    def test_a_cell_of_a_megabyte(self, write: Write) -> None:
        """Long contexts do not meet csv's own limit of 131,072 characters."""
        text = "x" * 2**20
        path = write("a.csv", "contexts\n" + f'"[""{text}""]"\n')
        assert list(read(path)) == [Sample(retrieved_contexts=[text])]


class TestFormat:
    """CSV files of any quoting, line endings and delimiters are read."""

    def test_line_numbers_are_those_of_the_file(
        self, write: Write, until_error: UntilError
    ) -> None:
        """An error names the line on which a row begins, however many lines its cells have."""
        path = write("a.csv", HEADER + '"q\nq\n\nq",,\n\nr,,[d1\n')
        before, error = until_error(read(path))
        assert before == [Sample(user_input="q\nq\n\nq")]
        assert error.line == 7

    def test_what_the_csv_module_writes_is_read(self, write: Write, tmp_path: Path) -> None:
        """Commas, quotes, line breaks of both kinds and edge spaces survive."""
        text = ' a, "b"\r\nc\n'
        with (tmp_path / "a.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["question", "contexts"], [text, json.dumps([text])]])
        expected = Sample(user_input=text, retrieved_contexts=[text])
        assert list(read(tmp_path / "a.csv")) == [expected]

    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("a.csv", '\ufeffquestion,contexts\r\nq,"[""a""]"\r\n'),
            ("a.csv", 'question;contexts\nq;"[""a""]"\n;\n;\n'),
            ("a.csv", 'question\tcontexts\nq\t"[""a""]"\n'),
            ("a.tsv", 'question\tcontexts\nq\t["a"]\n'),
            ("a.csv", 'question, contexts\nq,"[""a""]"\n'),
            ("a.csv", 'question|contexts\nq|"[""a""]"\n'),
            ("a.csv", 'question;contexts;"label, old"\nq;"[""a""]";\n'),
        ],
        ids=[
            "Excel, UTF-8",
            "Excel, semicolons",
            "tabs",
            "TSV",
            "space in the header",
            "bars",
            "a comma in a semicolon's header",
        ],
    )
    def test_the_usual_kinds(self, write: Write, name: str, content: str) -> None:
        """Byte order marks, semicolons, tabs, padded headers, and empty rows are read."""
        expected = Sample(user_input="q", retrieved_contexts=["a"])
        if name == "a.tsv":  # An unquoted cell that contains quotes is valid CSV.
            content = content.replace('["a"]', '"[""a""]"')
        assert list(read(write(name, content), rename={"label, old": None})) == [expected]

    @pytest.mark.parametrize(
        ("rows", "line", "says"),
        [
            ('q,,\n"q,,\nq,,\n', 3, "unexpected end of data"),
            ('q,,\n"q"x,,\n', 3, "a quote inside a quoted cell is doubled"),
            ("q,,\nq,,,x\n", 3, "the row has 4 cells, the header 3"),
            ("q,,\nq\n", 3, "the row has 1 cells, the header 3"),
            ("q,,\nq,a\rb,\n", 3, "new-line character seen in unquoted field"),
            ('q,,\nq,"[""a"",,]",\n', 3, "Expecting value"),
            ('q,,\nq,,"{""a"": 1, ""a"": 2}"\n', 3, "'a' occurs twice"),
            ('q,,\nq,,"[1.0]"\n', 3, "1.0 is not an ID"),
        ],
    )
    def test_malformed_rows(
        self, write: Write, until_error: UntilError, rows: str, line: int, says: str
    ) -> None:
        """A malformed row is an error at its line, after the rows before it are yielded."""
        before, error = until_error(read(write("a.csv", HEADER + rows)))
        assert before == [Sample(user_input="q")]
        assert error.line == line
        assert says in error.problem

    @pytest.mark.parametrize("content", ["", HEADER, HEADER + "\n,,\n"])
    def test_no_samples(self, write: Write, until_error: UntilError, content: str) -> None:
        """A header alone holds no samples."""
        _, error = until_error(read(write("a.csv", content)))
        assert "holds no samples" in error.problem

    def test_a_name_twice_in_the_header(self, write: Write, until_error: UntilError) -> None:
        """Two columns with one name are an error: neither is dropped silently."""
        _, error = until_error(read(write("a.csv", "question,question\na,b\n")))
        assert (error.line, error.field) == (1, "question")

    def test_a_column_without_a_name(self, write: Write) -> None:
        """The index that pandas writes has no name: it is left out, and other columns are not."""
        assert list(read(write("a.csv", ",question\n0,q\n"))) == [Sample(user_input="q")]
        (sample,) = read(write("b.csv", ",question\nx,q\n"))
        assert sample.metadata == {"": "x"}

    def test_renamed_columns_are_looked_up_in_the_header(
        self, write: Write, until_error: UntilError
    ) -> None:
        """A mistyped column is met before the first row is scored."""
        before, error = until_error(
            read(write("a.csv", "question\nq\n"), rename={"refs": "reference_ids"})
        )
        assert not before
        assert "no row has anything at 'refs': the columns are 'question'" in error.problem

    def test_an_unclosed_quote_does_not_swallow_the_file(
        self, write: Write, until_error: UntilError, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A record ends at the limit, so one quote cannot load the whole file into memory."""
        monkeypatch.setattr(text_files, "MAX_LINE_LENGTH", 100)
        path = write("a.csv", 'question\nq\n"q\n' + "x" * 50 + "\n" * 1000)
        before, error = until_error(read(path))
        assert before == [Sample(user_input="q")]
        assert error.line == 3
        assert "longer than 100 characters" in error.problem

    @pytest.mark.parametrize(("count", "is_read"), [(95, True), (96, False)])
    def test_a_record_may_be_as_long_as_the_limit(
        self, write: Write, monkeypatch: pytest.MonkeyPatch, *, count: int, is_read: bool
    ) -> None:
        """A record in quotes over several lines has at most the characters of the limit."""
        monkeypatch.setattr(text_files, "MAX_LINE_LENGTH", 100)
        text = f"q{chr(10)}{'x' * count}"
        path = write("a.csv", f'question\n"{text}"\n')
        if is_read:
            assert [sample.user_input for sample in read(path)] == [text]
        else:
            with pytest.raises(InputError, match="longer than 100 characters"):
                list(read(path))

    def test_the_limit_is_of_a_record_not_of_the_file(
        self, write: Write, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Rows below the limit are read, for any size of the whole file."""
        monkeypatch.setattr(text_files, "MAX_LINE_LENGTH", 10)
        path = write("a.csv", "question\n" + "q\n" * 1000)
        assert sum(1 for _ in read(path)) == 1000

    def test_invalid_utf8_names_the_line(self, write: Write, until_error: UntilError) -> None:
        """A file in Windows-1252, as Excel saves it by default, is an error that names UTF-8."""
        before, error = until_error(read(write("a.csv", b"question\nq\ncaf\xe9\n")))
        assert before == [Sample(user_input="q")]
        assert error.line == 3
        assert "0xe9 is not UTF-8" in error.problem
