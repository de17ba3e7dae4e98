"""JSON Lines: accepted files, the line of each error, and flat memory."""

from __future__ import annotations

import gzip
import json
import os
import sys
from collections.abc import Iterator
from io import BytesIO, TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fullrecall import Context, Sample
from fullrecall.errors import InputError, ParameterError
from fullrecall.files import text_files
from fullrecall.read import read, write_jsonl

if TYPE_CHECKING:
    from conftest import LeastPeak, UntilError, Write

GOOD = '{"question": "q", "retrieved_ids": ["d1"]}\n'
GOOD_SAMPLE = Sample(user_input="q", retrieved_context_ids=["d1"])


class TestReading:
    """Valid lines are read as samples."""

    @pytest.mark.parametrize(
        "content",
        [
            GOOD * 2,
            (GOOD * 2).rstrip("\n"),
            (GOOD * 2).replace("\n", "\r\n"),
            f"\n{GOOD}  \t\r\n\n{GOOD}\n\n",
            f"\ufeff{GOOD}{GOOD}",
            gzip.compress((GOOD * 2).encode()),
        ],
        ids=["plain", "no last line feed", "Windows", "blank lines", "BOM", "gzip"],
    )
    def test_every_usual_way_to_save_lines_reads_alike(
        self, write: Write, content: str | bytes
    ) -> None:
        """Line endings, blank lines, a byte order mark and gzip make no difference."""
        assert list(read(write("a.jsonl", content))) == [GOOD_SAMPLE] * 2

    def test_gzip_is_known_by_content(self, write: Write) -> None:
        """Gzip is known by content: a `.gz` file that a browser has unpacked is read too."""
        assert list(read(write("a.jsonl.gz", GOOD))) == [GOOD_SAMPLE]

    def test_null_and_nan_are_not_given(self, write: Write) -> None:
        """`null`, and the NaN that Python's json writes for pandas, leave a field out."""
        path = write("a.jsonl", '{"question": "q", "answer": NaN, "contexts": null}')
        assert list(read(path)) == [Sample(user_input="q")]

    def test_an_empty_list_is_an_answer(self, write: Write) -> None:
        """`[]` is an empty retrieval, which scores 0, and not a missing field."""
        (sample,) = read(write("a.jsonl", '{"question": "q", "contexts": []}'))
        assert sample.retrieved_contexts == ()

    def test_line_separators_inside_a_text_do_not_end_the_line(self, write: Write) -> None:
        """U+2028 and U+0085, which str.splitlines() would split at, stay in the text."""
        text = "a\u2028b\u0085c"
        path = write("a.jsonl", json.dumps({"question": text}, ensure_ascii=False))
        assert [sample.user_input for sample in read(path)] == [text]


class TestErrors:
    """Each error names the file, line, field, and a fix, after the rows before are yielded."""

    @pytest.mark.parametrize(
        ("row", "field", "says"),
        [
            ('{"question": "q"', None, "at column 17, near the end"),
            ("{'question': 'q'}", None, "double quotes"),
            ('{"question": q}', None, "near 'q}'"),
            ("[1, 2]", None, "a row must be an object with named fields, got list [1, 2]"),
            ('"text"', None, "a row must be an object with named fields, got str 'text'"),
            ("null", None, "a row must be an object with named fields, got NoneType None"),
            ('{"id": ' + "1" * 5000 + "}", None, "4300 digits"),
            ('{"metadata": ' + "[" * 200_000 + "}", None, "nested too deeply"),
            ('{"question": "q", "retreived_ids": [1]}', None, "retreived_ids may be mistyped"),
            ('{"contexts": "abc"}', "contexts", "expected a JSON array such as"),
            (
                '{"reference_ids": ["a", 2, 2.5]}',
                "reference_context_ids",
                "item 2: 2.5 is not an ID",
            ),
            ('{"contexts": ["a", 7]}', "retrieved_contexts", "item 1"),
            ('{"question": 3}', "user_input", "got int 3"),
            ('{"reference_ids": {"d1": 3, "d1": 1}}', "d1", "'d1' occurs twice"),
            ('{"question": "a", "question": "b"}', "question", "'question' occurs twice"),
            ('{"question": "a", "query": "b"}', None, "question and query may both be it"),
        ],
    )
    def test_a_row_that_is_no_sample(
        self, write: Write, until_error: UntilError, row: str, field: str | None, says: str
    ) -> None:
        """The third line is named, blank lines counted, and the first has been yielded."""
        path = write("a.jsonl", f"{GOOD}\n{row}\n{GOOD}")
        before, error = until_error(read(path))
        assert before == [GOOD_SAMPLE]
        assert (error.path, error.line, error.field) == (str(path), 3, field)
        assert says in error.problem
        assert "format='json'" not in error.problem
        assert str(error).startswith(f"{path}:3: ")

    def test_a_long_value_is_cut(self, write: Write, until_error: UntilError) -> None:
        """A message stays short for a value of any length."""
        _, error = until_error(read(write("a.jsonl", '{"contexts": "%s"}' % ("x" * 10**6))))
        assert len(str(error)) < 400

    @pytest.mark.parametrize(
        "content", ["", "\n\n \r\n", b"\xef\xbb\xbf", gzip.compress(b"", mtime=0)]
    )
    def test_no_samples(self, write: Write, until_error: UntilError, content: str | bytes) -> None:
        """An empty file is an error, not a data set on which everything passes."""
        before, error = until_error(read(write("a.jsonl", content)))
        assert not before
        assert "holds no samples" in str(error)

    def test_invalid_utf8_names_line_and_byte(self, write: Write, until_error: UntilError) -> None:
        """The error names the line, the byte, and the text before it."""
        content = GOOD.encode() + '{"question": "é'.encode() + b'\xe9"}\n'
        before, error = until_error(read(write("a.jsonl", content)))
        assert before == [GOOD_SAMPLE]
        assert error.line == 2
        assert 'byte 0xe9 is not UTF-8 (after \'{"question": "é\')' in error.problem

    def test_nul_bytes(self, write: Write, until_error: UntilError) -> None:
        """The error names a NUL byte as such, in place of JSON's own message."""
        path = write("a.jsonl", GOOD.encode() + b'{"question": "a\0b"}')
        before, error = until_error(read(path))
        assert before == [GOOD_SAMPLE]
        assert error.line == 2
        assert "a NUL byte" in error.problem

    @pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
    def test_a_byte_order_mark_tells_the_encoding(self, write: Write, encoding: str) -> None:
        """Excel's "Unicode text" is read as UTF-16, also compressed."""
        content = GOOD.encode(encoding)
        assert list(read(write("a.jsonl", content))) == [GOOD_SAMPLE]
        assert list(read(write("b.jsonl.gz", gzip.compress(content)))) == [GOOD_SAMPLE]

    def test_damaged_utf_16_is_named(self, write: Write, until_error: UntilError) -> None:
        """A UTF-16 file that ends within a character is an error."""
        _, error = until_error(read(write("a.jsonl", GOOD.encode("utf-16")[:-1])))
        assert "utf-16" in error.problem

    def test_truncated_gzip(self, write: Write, until_error: UntilError) -> None:
        """Rows unpacked before the cut are yielded, and the cut raises an error."""
        rows = b"".join(
            b'{"question": "%s"}\n' % os.urandom(60).hex().encode() for _ in range(2000)
        )
        path = write("a.jsonl.gz", gzip.compress(rows)[:-5000])
        before, error = until_error(read(path))
        assert 0 < len(before) < 2000
        assert error.line == len(before) + 1
        assert "truncated" in error.problem

    def test_gzip_with_a_wrong_checksum(self, write: Write, until_error: UntilError) -> None:
        """A gzip file with a wrong checksum is an error."""
        packed = bytearray(gzip.compress(GOOD.encode()))
        packed[-8] ^= 0xFF
        _, error = until_error(read(write("a.jsonl.gz", bytes(packed))))
        assert "CRC" in error.problem

    def test_a_file_that_may_not_be_opened(
        self, write: Write, until_error: UntilError, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """A file without read permission is an error with its path and the system's message."""
        path = write("a.jsonl", GOOD)

        def refused(self: Path, mode: str) -> None:
            raise PermissionError(13, "Permission denied")

        monkeypatch.setattr(Path, "open", refused)
        _, error = until_error(read(path))
        assert str(error) == f"{path}: cannot be opened: Permission denied"

    @pytest.mark.parametrize("content", ["[\n" + GOOD, '{\n"question": "q"\n}', "[1]"])
    def test_json_that_is_not_lines(
        self, write: Write, until_error: UntilError, content: str | bytes
    ) -> None:
        """A file that is one JSON value has another error than a malformed line."""
        _, error = until_error(read(write("a.jsonl", content)))
        assert error.line == 1
        assert "format='json'" in error.problem

    def test_missing_files_are_met_at_the_call(self, tmp_path: Path) -> None:
        """A mistyped path fails at the call, not when the iterator is first used."""
        with pytest.raises(InputError, match="no such file"):
            read(tmp_path / "typo.jsonl")

    def test_directories_are_met_at_the_call(self, tmp_path: Path) -> None:
        """The error for a directory says that it is one."""
        with pytest.raises(InputError, match="is a directory"):
            read(tmp_path)


class TestRename:
    """`rename` maps columns to fields, or leaves them out."""

    def test_columns_are_renamed_and_left_out(self, write: Write) -> None:
        """All columns are renamed at once, so two columns may swap names."""
        path = write("a.jsonl", '{"frage": "q", "answer": "r", "prediction": "p", "x": 1}')
        rename = {"frage": "query", "answer": "reference", "prediction": "answer", "x": None}
        expected = Sample(user_input="q", reference="r", response="p")
        assert list(read(path, rename=rename)) == [expected]

    def test_targets_are_fields(self, write: Write) -> None:
        """A mistyped target fails at the call and lists the fields."""
        with pytest.raises(
            ParameterError, match="'refrence', which is not a field: choose one of id"
        ):
            read(write("a.jsonl", GOOD), rename={"x": "refrence"})

    def test_a_column_that_never_comes_is_an_error(
        self, write: Write, until_error: UntilError
    ) -> None:
        """A column to rename that no row has is an error, not a missing field."""
        path = write("a.jsonl", GOOD)
        before, error = until_error(read(path, rename={"refs": "reference_ids"}))
        assert before == [GOOD_SAMPLE]
        assert error.field == "refs"
        assert "no row has anything at 'refs'" in error.problem

    def test_a_column_that_some_rows_have_will_do(self, write: Write) -> None:
        """In JSON Lines a renamed column may be missing from any row, the first included."""
        path = write("a.jsonl", GOOD + '{"frage": "q"}')
        samples = list(read(path, rename={"frage": "question"}))
        assert [sample.user_input for sample in samples] == ["q", "q"]

    def test_two_columns_with_one_meaning(self, write: Write) -> None:
        """Two columns that end up under one name are refused, not resolved by order."""
        path = write("a.jsonl", '{"x": "a", "y": "b"}')
        with pytest.raises(ParameterError, match="names 'user_input' twice"):
            read(path, rename={"x": "question", "y": "query"})


class TestMemory:
    """Rows stream: neither the file nor a line beyond the limit comes into memory."""

    def test_rows_are_not_kept(self, write: Write, least_peak: LeastPeak) -> None:
        """Reading 5 MB of rows needs less than 1 MB at any time."""
        row = json.dumps({"question": "q", "contexts": ["x" * 1000]}) + "\n"
        path = write("a.jsonl", row * 5_000)

        def read_all() -> None:
            assert sum(1 for _ in read(path)) == 5_000

        assert least_peak(read_all) < 2**20

    def test_an_over_long_line_is_not_read_to_its_end(
        self,
        write: Write,
        until_error: UntilError,
        least_peak: LeastPeak,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        """Reading a line of 100 MB stops at the limit, and the error names the limit."""
        monkeypatch.setattr(text_files, "MAX_LINE_LENGTH", 2**20)
        line = GOOD.encode() + b'{"question": "' + b"x" * 100_000_000 + b'"}\n'
        path = write("a.jsonl.gz", gzip.compress(line, 1))
        del line

        def read_to_the_error() -> None:
            before, error = until_error(read(path))
            assert before == [GOOD_SAMPLE]
            assert error.line == 2
            assert "longer than 1,048,576 characters" in error.problem

        assert least_peak(read_to_the_error) < 4 * 2**20


IDS = st.text(min_size=1, max_size=8)
TEXTS = st.text(max_size=30)
PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
CONTEXTS = st.builds(
    Context,
    TEXTS,
    id=st.none() | IDS,
    score=st.none() | st.floats(allow_nan=False, allow_infinity=False),
    metadata=st.dictionaries(st.text(), PLAIN, max_size=2),
)
SAMPLES = st.builds(
    Sample,
    id=st.none() | IDS,
    user_input=st.none() | TEXTS,
    retrieved_contexts=st.none() | st.lists(CONTEXTS, max_size=3),
    reference=st.none() | TEXTS,
    reference_contexts=st.none() | st.lists(CONTEXTS | st.lists(CONTEXTS, max_size=2), max_size=3),
    reference_context_ids=st.none()
    | st.lists(IDS, max_size=3)
    | st.dictionaries(IDS, st.integers(-1, 4), max_size=3)
    | st.lists(st.lists(IDS, min_size=1, max_size=3), max_size=3),
    reference_claims=st.none() | st.lists(TEXTS, max_size=3),
    retrieval=st.none() | st.fixed_dictionaries({"error": TEXTS}),
    metadata=st.dictionaries(st.text(), PLAIN, max_size=3),
)


class TestWriting:
    """`write_jsonl` writes what `read` reads back equal."""

    @settings(deadline=None)
    @given(samples=st.lists(SAMPLES, min_size=1, max_size=4))
    def test_round_trip(
        self, samples: list[Sample], tmp_path_factory: pytest.TempPathFactory
    ) -> None:
        """Every sample comes back equal: groups, grades, blanks, metadata, any character."""
        path = tmp_path_factory.mktemp("round") / "a.jsonl"
        assert write_jsonl(samples, path) == len(samples)
        assert list(read(path)) == samples

    def test_half_a_surrogate_pair_round_trips(self, tmp_path: Path) -> None:
        """A text cut in the middle of an emoji, which UTF-8 cannot hold, is escaped."""
        sample = Sample(user_input="é\ud83d")
        write_jsonl([sample], tmp_path / "a.jsonl")
        assert list(read(tmp_path / "a.jsonl")) == [sample]

    def test_a_file_can_be_rewritten_from_itself(self, write: Write) -> None:
        """The file being read is not truncated by the one that replaces it."""
        path = write("a.jsonl", GOOD * 3)
        assert write_jsonl(read(path), path) == 3
        assert list(read(path)) == [GOOD_SAMPLE] * 3

    def test_an_error_on_the_way_leaves_the_old_file(self, write: Write) -> None:
        """An error while writing keeps the old file: a half-written one would pass for whole."""
        path = write("a.jsonl", GOOD)

        def samples() -> Iterator[Any]:
            yield GOOD_SAMPLE
            raise RuntimeError

        with pytest.raises(RuntimeError):
            write_jsonl(samples(), path)
        assert path.read_text() == GOOD
        assert [file.name for file in path.parent.iterdir()] == ["a.jsonl"]

    def test_metadata_that_json_cannot_hold(self, tmp_path: Path) -> None:
        """Metadata that JSON cannot hold is an error that names the sample and the type."""
        sample = Sample(user_input="q", metadata={"x": {1, 2}})
        with pytest.raises(InputError, match=r"sample 2: metadata.*set") as caught:
            write_jsonl([GOOD_SAMPLE, sample], tmp_path / "a.jsonl")
        assert caught.value.field == "metadata"
        assert not list(tmp_path.iterdir())

    def test_links_stay_links(self, write: Write, tmp_path: Path) -> None:
        """Writing through a link replaces the file that it names, not the link."""
        (tmp_path / "link.jsonl").symlink_to(write("a.jsonl", ""))
        write_jsonl([GOOD_SAMPLE], tmp_path / "link.jsonl")
        assert (tmp_path / "link.jsonl").is_symlink()
        assert list(read(tmp_path / "a.jsonl")) == [GOOD_SAMPLE]

    def test_devices_are_written_to_directly(self) -> None:
        """A device or a pipe, such as /dev/stdout, is not replaced by a file."""
        assert write_jsonl([GOOD_SAMPLE], os.devnull) == 1
        assert not Path(os.devnull).is_file()


def test_limits_protect_the_memory() -> None:
    """A text that is read as a whole has 512 Mi characters at most, and a line 64 Mi."""
    assert (text_files.MAX_TEXT_LENGTH, text_files.MAX_LINE_LENGTH) == (2**29, 2**26)


def test_a_line_of_exactly_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of exactly the limit is read; the line break does not count."""
    monkeypatch.setattr(text_files, "MAX_LINE_LENGTH", 5)
    lines = [b"12345\n", b"67890"]
    assert list(text_files.byte_lines(BytesIO(b"".join(lines)))) == [*enumerate(lines, start=1)]
    with pytest.raises(InputError, match="longer than 5 characters"):
        list(text_files.byte_lines(BytesIO(b"123456")))


@pytest.mark.parametrize(
    "reader", [text_files.whole_text, lambda path: [*text_files.text_lines(path, 5)]]
)
def test_a_file_of_exactly_the_limit_is_read(
    write: Write, monkeypatch: pytest.MonkeyPatch, reader: Any
) -> None:
    """A text, or its only line, has at most the characters of the limit."""
    monkeypatch.setattr(text_files, "MAX_TEXT_LENGTH", 5)
    assert reader(str(write("a", "12345")))
    with pytest.raises(InputError, match="than 5 characters"):
        reader(str(write("a", "123456")))


def test_standard_input_stays_open(monkeypatch: pytest.MonkeyPatch) -> None:
    """Standard input is read to its end, and not closed."""
    raw = BytesIO(GOOD.encode())
    monkeypatch.setattr(sys, "stdin", TextIOWrapper(raw))
    assert list(read("-")) == [GOOD_SAMPLE]
    assert not raw.closed
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="-: is closed"):
        list(read("-"))
