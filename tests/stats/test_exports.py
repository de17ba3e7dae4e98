"""Reports are exported as CSV and Markdown, to files with the right suffixes."""

from __future__ import annotations

import csv
import io
import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.precision_by_id import PrecisionById

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import ParameterError
from fullrecall.measures import Recall, nDCG
from fullrecall.report import Comparison
from fullrecall.show.markdown import escaped
from fullrecall.show.spreadsheet import bare, cell
from fullrecall.show.text import between, signed
from fullrecall.stats.summary import summary_sheet

SAMPLES = [
    Sample(
        id="q1", user_input="first?", retrieved_ids=["a", "x", "b"], expected_ids=["a", "b", "z"]
    ),
    Sample(user_input="second?", retrieved_ids=["c"], expected_ids=["c"], group="g"),
    Sample(user_input="third?", expected_ids=["c"]),
    Sample(user_input="fourth?", retrieved_ids=["c"], expected_ids=[]),
]

SCRIPT = "a | b `code` <script>alert(1)</script> [x](javascript:1) **b** #1 @someone"


def test_slices_and_several_comparisons_have_plain_values() -> None:
    """Each slice exports its figures; each of several comparisons is with the first report."""
    samples = [
        Sample(
            id=str(n),
            retrieved_ids=["a"],
            expected_ids=["a" if n % 2 else "b"],
            metadata={"kind": "x" if n < 3 else "y"} if n < 5 else {},
        )
        for n in range(6)
    ]
    report = evaluate(samples, IdRecall(), progress=False)
    slices = report.slices("kind")
    plain = json.loads(json.dumps(slices.to_dict()))
    assert [(each["value"], each["mean"], each["samples"]) for each in plain["slices"]] == [
        ("x", pytest.approx(1 / 3), 3),
        ("y", 0.5, 2),
    ]
    assert (plain["by"], plain["label"], plain["without"]) == ("kind", "id_recall", 1)
    assert str(slices).endswith("1 sample without kind")
    several = json.loads(json.dumps(compare({"a": report, "b": report, "c": report}).to_dict()))
    assert (several["baseline"], [*several["comparisons"]]) == ("a", ["b", "c"])


HOSTILE = [
    '=HYPERLINK("http://x.example","y")',
    "+1+cmd|' /C calc'!A0",
    "-2+3",
    "@SUM(1)",
    "\t=1",
    "\r=1",
    " =1",
    "\uff1d1+1",
    "\uff20SUM(1)",
    "'=1",
    "one;=1+1",
    "one, two\n=1+1\tand\t@x",
    'one;"=1+1"',
    SCRIPT,
    'line\nbreak, with "quotes" and ,commas',
    "null \x00 bell \x07 \x1b[31m",
    "half an emoji \ud83d",
    "日本語",
]


def _runs_in_a_spreadsheet(text: str) -> bool:
    """Return whether a spreadsheet may take a cell for a formula, by OWASP's list and fullwidth."""
    start = text.lstrip(' \t\r\n\ufeff"')[:1]
    number = re.fullmatch(r"\s*[+-][0-9.]+(e[+-]?[0-9]+)?\s*", text, re.IGNORECASE)
    return start in {"=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20"} and not number


def report_of(samples: list[Sample]) -> Report:
    """Return the report of `samples`."""
    return evaluate(samples, [IdRecall(), PrecisionById()], progress=False)


def hostile() -> Report:
    """Return a report with a hostile text in every field."""
    return report_of(
        [
            Sample(id=text, user_input=text, group=text, retrieved_ids=["x"], expected_ids=[text])
            for text in HOSTILE
        ]
    )


class TestCsv:
    """CSV has one line for each sample."""

    def test_columns_are_those_of_pandas(self) -> None:
        """CSV has the columns and numbers of `to_frame`, and empty cells for missing scores."""
        report = report_of(SAMPLES)
        head, *rows = csv.reader(io.StringIO(report.to_csv()))
        frame = report.to_frame()
        assert head == list(frame.columns)
        column = head.index("id_recall@1")
        assert [row[column] for row in rows] == [repr(1 / 3), "1.0", "", ""]
        assert [row[head.index("group")] for row in rows] == ["", "g", "", ""]

    def test_no_cell_is_a_formula(self, tmp_path: Path) -> None:
        """A cell that a spreadsheet would run gets an apostrophe; other cells stay unchanged."""
        hostile().to_csv(tmp_path / "r.csv")
        for encoding in ("utf-8", "utf-8-sig"):
            with (tmp_path / "r.csv").open(encoding=encoding, newline="") as file:
                head, *rows = csv.reader(file)
            assert head[0] == ("sample" if encoding == "utf-8-sig" else "\ufeffsample")
        assert len(rows) == len(HOSTILE)
        for row, text in zip(rows, HOSTILE, strict=True):
            cell = row[head.index("user_input")]
            assert not _runs_in_a_spreadsheet(cell)
            assert bare(cell) == text.encode(errors="backslashreplace").decode()

    @pytest.mark.parametrize("delimiter", [",", ";"])
    @pytest.mark.parametrize("expected", [",", ";", "\t"])
    def test_no_cell_is_a_formula_by_another_delimiter(self, delimiter: str, expected: str) -> None:
        """No part of a line is a formula, even if split at another delimiter or without quotes."""
        for line in hostile().to_csv(delimiter=delimiter).splitlines():
            for part in line.split(expected):
                assert not _runs_in_a_spreadsheet(part.strip('"')), line

    @given(st.text(st.sampled_from("='+-@;, \t\n\r\"1a\uff1d\ufeff"), max_size=12))
    @example("-1;")
    @example("a;-1,x")
    def test_different_texts_stay_different(self, text: str) -> None:
        """The apostrophe can be removed again without loss: =1 and '=1 stay two texts."""
        assert bare(str(cell(text))) == text
        assert not _runs_in_a_spreadsheet(str(cell(text)))

    def test_semicolons_where_a_comma_is_decimal(self, tmp_path: Path) -> None:
        """Semicolons may delimit columns, for decimal commas; other delimiters are refused."""
        report = report_of(SAMPLES)
        report.to_csv(tmp_path / "r.csv", delimiter=";")
        with (tmp_path / "r.csv").open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file, delimiter=";"))
        assert rows == list(csv.reader(io.StringIO(report.to_csv())))
        with pytest.raises(ParameterError, match=r"delimiter must be .* got '\|'"):
            report.to_csv(delimiter="|")

    @pytest.mark.parametrize("number", ["-5", "+1.5", "-1e-3", "17"])
    def test_numbers_stay_numbers(self, number: str) -> None:
        """A number such as the ID -5 is not escaped as a formula."""
        report = report_of([Sample(id=number, retrieved_ids=["a"], expected_ids=["a"])])
        assert report.to_csv().splitlines()[1].startswith(f"{number},")


def rows_of_markdown(text: str) -> dict[str, list[str]]:
    """Return the cells of each row of tables in Markdown by its label."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {label: cells for label, *cells in lines}


class TestMarkdown:
    """Markdown has tables for a pull request."""

    def test_figures(self) -> None:
        """Markdown has the mean, its interval, the coverage, and bounds for unscored samples."""
        text = report_of(SAMPLES).to_markdown()
        score = report_of(SAMPLES).summary()["id_recall"]
        assert score.interval is not None
        rows = rows_of_markdown(text)
        assert rows["all retrieved"][0] == f"{score.mean:.3f}"
        assert rows["scored"][0] == "2"
        assert rows["undefined"][0] == rows["unscored"][0] == "1"
        assert escaped(between(score.interval)) in text
        for note in summary_sheet(report_of(SAMPLES).summary()).notes:
            assert f"- {escaped(note)}" in text, "all that the terminal says"
        assert "0.556 to 0.889, depending on unscored samples" in text

    def test_nothing_in_it_is_markup(self) -> None:
        """No text makes a link, HTML, a mention, or a broken table."""
        rows = [
            Sample(retrieval={"error": text.replace("\ud83d", "")}, expected_ids=["a"])
            for text in HOSTILE
        ]
        text = report_of(rows).to_markdown()
        assert "<script>" not in text
        assert "[x](" not in text
        assert not re.search(r"(?<![\w\\])\\?[@#]\w", text), "GitHub reads signs unescaped"
        assert all(line.startswith(("- ", "|", "#", "")) for line in text.splitlines())
        cells = {
            len(re.findall(r"(?<!\\)\|", line))
            for line in text.splitlines()
            if line.startswith("| ")
        }
        assert cells == {4}


def _compared(*measures: Any) -> Comparison:
    """Return a comparison with a gain, a loss, hostile texts, and samples of one side."""
    wanted = {"q1": "a", "q2": "b", "q3": "c", SCRIPT: "=1"}

    def of(found: set[str]) -> Report:
        rows = [
            Sample(id=n, user_input=n, retrieved_ids=[t if n in found else "x"], expected_ids=[t])
            for n, t in wanted.items()
        ]
        return evaluate([*rows, *[Sample(id=f"only {len(found)}")]], IdRecall(), progress=False)

    return compare(of({"q1", "q2"}), of({"q2", "q3", SCRIPT}), *measures)


class TestComparison:
    """Comparisons are exported for a pull request and for other programs."""

    def test_markdown_has_every_difference_and_the_largest_changes(self, tmp_path: Path) -> None:
        """Markdown has every difference and the largest changes, and no markup from the data."""
        comparison = _compared(Recall @ 1, nDCG)
        text = comparison.to_markdown(tmp_path / "c.md", flips=2)
        assert (tmp_path / "c.md").read_text("utf-8") == text
        assert text.startswith("### CANNOT TELL\\: id\\_recall\\@1 ")
        difference = comparison["id_recall"][Recall @ 1].difference
        assert f"**{escaped(signed(difference))}**" in text
        assert "3 samples changed in id\\_recall\\@1, the 2 largest changes\\:" in text
        assert text.count("→") == 2
        assert "<script>" not in text
        assert not re.search(r"(?<![\w\\])\\?[@#]\w", text), "GitHub reads signs unescaped"
        for cells in (8, 6):
            rows = [line for line in text.splitlines() if line.startswith("| ")]
            assert any(len(re.findall(r"(?<!\\)\|", row)) == cells for row in rows)
        assert "changed in" not in comparison.to_markdown(flips=0)
        with pytest.raises(ParameterError, match="flips"):
            comparison.to_markdown(flips=-1)

    @pytest.mark.rooms
    def test_the_command_appends_it(self, tmp_path: Path) -> None:
        """`compare --markdown` adds to a job's summary, and prints as without."""
        from tests.cli.command_line import run

        comparison = _compared()
        comparison.before.save(tmp_path / "b.jsonl")
        comparison.after.save(tmp_path / "a.jsonl")
        summary = tmp_path / "summary.md"
        summary.write_text("# Job\n\n")
        command = ("compare", tmp_path / "b.jsonl", tmp_path / "a.jsonl", "--flips", "1")
        plain, given = run(*command), run(*command, "--markdown", summary)
        assert (given.exit_code, given.stdout) == (0, plain.stdout)
        assert summary.read_text("utf-8") == f"# Job\n\n{comparison.to_markdown(flips=1)}"
        comparison.after.save(tmp_path / "c.jsonl")
        several = run(*command[:3], tmp_path / "c.jsonl", "--markdown", summary)
        assert several.exit_code == 0
        assert "Context recall, report by report" in summary.read_text("utf-8")
        sliced = run(*command[:3], tmp_path / "c.jsonl", "--slices", "group")
        assert "--slices: needs two reports" in " ".join(sliced.stderr.split())


class TestFrames:
    """Data frames hold texts that are not UTF-8."""

    @pytest.mark.rooms
    def test_half_an_emoji_stands_as_its_escape(self) -> None:
        """Half an emoji, which UTF-8 lacks, becomes its escape in a data frame."""
        from fullrecall.diagnosis import diagnose

        half = "\ud83d and more"
        sample = Sample(id=half, user_input=half, retrieved_ids=["a"], expected_ids=[half])
        report = evaluate([sample], IdRecall(name=half), progress=False)
        whole = r"\ud83d and more"
        assert report.to_frame()["user_input"][0] == whole
        assert report.to_frame()[whole][0] == 0.0
        assert diagnose(report).to_frame()["target"][0] == whole


@pytest.mark.rooms
def test_a_notebook_shows_the_length_of_a_written_text(tmp_path: Path) -> None:
    """A notebook shows the length of a written text, and not its 300,000 characters."""
    from fullrecall.diagnosis import diagnose

    report = evaluate(SAMPLES[:1], IdRecall(), progress=False)
    for name, write in {
        "r.html": report.to_html,
        "c.html": compare(report, report).to_html,
        "r.csv": report.to_csv,
        "d.md": diagnose(report).to_markdown,
    }.items():
        text = write(tmp_path / name)  # type: ignore[operator]
        assert repr(text) == f"<{len(text):,} characters, written to a file>"
        assert str(text).strip() == (tmp_path / name).read_bytes().decode("utf-8-sig").strip()
    assert repr(report.to_csv()) == repr(str(report.to_csv()))
