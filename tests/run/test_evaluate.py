"""`evaluate` and the report: rows, totals, frames, missed targets, saving and loading."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import narwhals as nw
import pytest

from fullrecall import IdRecall, Report, Sample, TextRecall, evaluate
from fullrecall._util.dataframes import Backend
from fullrecall.errors import InputError, MissingExtraError, ParameterError, ReportError
from fullrecall.files.reports.json_lines import JsonLinesWriter
from fullrecall.measures import RR, Precision, Recall, nDCG
from fullrecall.samples.retrieval import Retrieval
from fullrecall.scorers.result import Status

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SAMPLES = [
    Sample(
        id="q1", user_input="first?", retrieved_ids=["a", "x", "b"], expected_ids=["a", "b", "z"]
    ),
    Sample(user_input="second?", retrieved_ids=[], expected_ids=["c"]),
    Sample(user_input="third?", expected_ids=["c"]),
    Sample(user_input="fourth?", retrieved_ids=["c"], expected_ids=[]),
]


def report_of() -> Report:
    """Return the report of the four samples above."""
    return evaluate(SAMPLES, IdRecall(), progress=False)


class TestEvaluate:
    """`evaluate` takes samples and returns a report."""

    def test_rows_come_in_the_samples_order(self) -> None:
        """A report has one row for each sample, in order, with any status."""
        report = report_of()
        assert [row.label for row in report] == ["q1", "#2", "#3", "#4"]
        assert [row.results[0].status for row in report] == [
            Status.SCORED,
            Status.SCORED,
            Status.UNSCORED,
            Status.UNDEFINED,
        ]

    def test_mappings_are_samples(self) -> None:
        """Rows with the field names of other tools are read as they are."""
        rows = [{"query": "q", "retrieved_ids": [1], "expected_ids": ["1"]}]
        assert evaluate(rows, [IdRecall()], progress=False).summary()["id_recall"].mean == 1.0

    def test_a_stream_is_read_once_and_lazily(self) -> None:
        """A generator of samples is read once, lazily."""
        drawn = []

        def stream() -> Iterator[Sample]:
            for sample in SAMPLES:
                drawn.append(sample)
                yield sample

        assert len(evaluate(stream(), IdRecall(), progress=False)) == len(drawn) == 4

    @pytest.mark.parametrize(
        ("samples", "message"),
        [
            ("file.jsonl", "fullrecall.read.read"),
            (SAMPLES[0], "got Sample"),
            ({"query": "q"}, "got dict"),
            (7, "got int"),
        ],
    )
    def test_arguments_that_are_no_samples_are_refused(self, samples: Any, message: str) -> None:
        """A path, one sample, or a mapping is an error that says what to pass."""
        with pytest.raises(InputError, match=message):
            evaluate(samples, IdRecall())

    def test_a_bad_item_loses_nothing(self) -> None:
        """A bad item is an error with its position and the report of the samples before it."""
        with pytest.raises(InputError, match=r"(?s)sample 3: .*columns: colour") as caught:
            evaluate([*SAMPLES[:2], {"colour": "red"}, SAMPLES[3]], IdRecall(), progress=False)
        assert caught.value.report is not None
        assert [row.label for row in caught.value.report] == ["q1", "#2"]

    def test_a_bad_item_of_another_type(self) -> None:
        """The error names the type of a None among the samples."""
        with pytest.raises(InputError, match=r"sample 2: .*got NoneType"):
            evaluate([SAMPLES[0], None], IdRecall(), progress=False)  # type: ignore[list-item]

    @pytest.mark.parametrize(
        ("scorers", "message"),
        [
            ([], "empty"),
            ([IdRecall], "pass an instance"),
            (
                [IdRecall(), IdRecall()],
                r"two columns of the report are named 'id_recall'.*every measure",
            ),
            (["id_recall"], "is not a scorer"),
            ("id_recall", "'id_recall' is not a scorer"),
            ([IdRecall(name="group")], "two columns of the report are named 'group'"),
        ],
    )
    def test_scorers_are_checked_before_anything_is_scored(
        self, scorers: Any, message: str
    ) -> None:
        """Classes, sync twins and names are refused before the first sample, with the fix."""
        with pytest.raises(ParameterError, match=message):
            evaluate(SAMPLES, scorers)

    def test_progress_is_shown_on_a_terminal_only(self, capfd: pytest.CaptureFixture[str]) -> None:
        """A progress bar is shown on a terminal, and not written to a log file."""
        evaluate(SAMPLES, IdRecall(), progress=True)
        assert capfd.readouterr() == ("", "")


class TestSummary:
    """A summary has means, with their coverage."""

    def test_means_and_coverage(self) -> None:
        """Only scored samples enter the means; undefined and unscored ones are counted."""
        score = report_of().summary()["id_recall"]
        assert (score.scored, score.undefined, score.unscored) == (2, 1, 1)
        assert score.mean == pytest.approx((2 / 3 + 0) / 2)
        means = {k: score[Recall @ k].mean for k in (1, 3, 5, 10)}
        assert means == pytest.approx({1: 1 / 6, 3: 1 / 3, 5: 1 / 3, 10: 1 / 3})

    def test_any_measure_can_be_asked_for(self) -> None:
        """Measures are in the order of the arguments; the error for an unknown one lists them."""
        score = report_of().summary(RR, Recall @ 1)["id_recall"]
        assert list(score) == [RR, Recall @ 1]
        assert score[RR].mean == 0.5
        assert (score[RR].samples, score.main.measure) == (2, RR)
        assert (score["rr"], score["recall@1"]) == (score[RR], score[Recall @ 1])
        for other in (nDCG @ 5, "ndcg@5", "luck"):
            with pytest.raises(KeyError, match=r"no measure .*it has RR, Recall @ 1"):
                _ = score[other]

    def test_reasons_are_counted(self) -> None:
        """The reasons of unscored samples are counted in the summary and in its text."""
        summary = report_of().summary()
        (reason, count), *others = summary["id_recall"].reasons.items()
        assert ("no retrieval observed" in reason, count, others) == (True, 1, [])
        assert "no retrieval observed" in str(summary)

    def test_reasons_that_differ_in_an_address_are_one(self) -> None:
        """Reasons that differ only in a thread ID or an address are counted as one."""
        reasons = [
            f"object at 0x7f{n}a8c1d2e of thread 14007952564{n}088: 3 of {n}" for n in (1, 1, 2)
        ]
        samples = [
            Sample(expected_ids=["a"], retrieval=Retrieval(error=reason)) for reason in reasons
        ]
        summary = evaluate(samples, IdRecall(), progress=False).summary()
        assert list(summary["id_recall"].reasons.values()) == [2, 1]

    def test_nothing_scored_is_no_number(self) -> None:
        """Without a scored sample there is no mean: None, and a dash in the table."""
        summary = evaluate([SAMPLES[2]], IdRecall(), progress=False).summary()
        assert summary["id_recall"].mean is None
        assert "nan" not in str(summary).lower()

    def test_no_samples(self) -> None:
        """An empty collection gives an empty summary."""
        summary = evaluate([], IdRecall(), progress=False).summary()
        assert (summary.samples, summary["id_recall"].mean) == (0, None)

    def test_unknown_score(self) -> None:
        """The error for a misspelled name lists the scores."""
        with pytest.raises(KeyError, match="id_recall"):
            report_of().summary()["recall"]

    def test_summary_can_be_asked_for_between_rows(self) -> None:
        """Rows that are added after a summary are in the next summary, once."""
        report = report_of()
        first = report.summary().samples
        report.add(report.rows[0])
        again = report.summary()
        assert (first, again.samples, again["id_recall"].scored) == (4, 5, 3)


class TestMissed:
    """`missed` lists missed targets, with their ranks beyond k."""

    def test_rank_beyond_k(self) -> None:
        """A target beyond k is missed with its rank; one not retrieved has no rank."""
        missed = report_of().missed(2)
        assert [(m.sample, m.target, m.rank, m.score) for m in missed] == [
            ("q1", "b", 3, "id_recall"),
            ("q1", "z", None, "id_recall"),
            ("#2", "c", None, "id_recall"),
        ]

    def test_of_one_score(self) -> None:
        """Each scorer's missed targets are listed apart."""
        report = evaluate(SAMPLES, [IdRecall(), IdRecall(name="again")], progress=False)
        assert len(report.missed(score="again")) == len(report.missed()) / 2 == 2

    def test_at_another_k(self) -> None:
        """`missed(k)` asks for any k."""
        assert [m.target for m in report_of().missed(3)] == ["z", "c"]
        assert [m.target for m in report_of().missed(1)] == ["b", "z", "c"]


class TestFrames:
    """Reports become data frames of each library."""

    def test_one_row_per_sample_one_column_per_score(self) -> None:
        """A frame has a row per sample with scores, each k, status and reason; None is NaN."""
        frame = report_of().to_frame()
        assert list(frame.columns) == [
            "sample",
            "user_input",
            "group",
            "id_recall",
            "id_recall@1",
            "id_recall@3",
            "id_recall@5",
            "id_recall@10",
            "id_recall_status",
            "id_recall_reason",
        ]
        assert list(frame["id_recall_status"]) == ["scored", "scored", "unscored", "undefined"]
        assert frame["id_recall@1"].mean() == pytest.approx(1 / 6)

    def test_columns_of_the_measures_asked_for(self) -> None:
        """The columns of a frame are the requested measures, named as feedback keys are."""
        frame = report_of().to_frame(Recall @ 2, nDCG(gain="exponential") @ 10, Precision)
        assert list(frame.columns[3:6]) == [
            "id_recall@2",
            "id_recall.ndcg(gain=exponential)@10",
            "id_recall.precision",
        ]

    def test_an_empty_report_has_the_same_columns(self) -> None:
        """An empty report has no rows and all columns."""
        empty = evaluate([], IdRecall(), progress=False)
        assert list(empty.to_frame().columns) == list(report_of().to_frame().columns)

    @pytest.mark.rooms
    @pytest.mark.parametrize("backend", ["polars", "pyarrow"])
    @pytest.mark.parametrize("empty", [False, True], ids=["rows", "no rows"])
    def test_each_library_gets_the_same_cells(self, backend: Backend, *, empty: bool) -> None:
        """Each library gets the same cells as pandas, in columns of the same types."""
        from fullrecall import diagnose

        report = evaluate([], IdRecall(), progress=False) if empty else report_of()
        diagnosis = diagnose(report)
        for make in (report.to_frame, diagnosis.to_frame):
            made = make(backend=backend)
            assert type(made).__module__.partition(".")[0] == backend
            frame, plain = nw.from_native(made), make()
            assert frame.columns == list(plain.columns)
            cells = plain.astype(object).where(plain.notna(), None)
            assert frame.rows(named=True) == cells.to_dict("records")
            assert not any(kind == nw.Unknown for kind in frame.schema.values())

    def test_half_an_emoji_is_written_as_its_escape(self) -> None:
        """Half an emoji, which JSON may hold and UTF-8 may not, is written as its escape."""
        sample = Sample(user_input="\ud83d", retrieved_ids=["a"], expected_ids=["a"])
        report = evaluate([sample], IdRecall(), progress=False)
        assert report.to_frame(backend="polars")["user_input"][0] == r"\ud83d"

    def test_another_library_is_refused(self) -> None:
        """An unknown library is an error that lists the choices."""
        expected = r"backend must be 'pandas' or 'polars' or 'pyarrow', got 'spark'"
        with pytest.raises(ParameterError, match=expected):
            report_of().to_frame(backend="spark")  # type: ignore[arg-type]

    @pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
    def test_a_missing_library_is_named(
        self, monkeypatch: pytest.MonkeyPatch, backend: Backend
    ) -> None:
        """The error ends with the command that installs it."""
        monkeypatch.setitem(sys.modules, backend, None)
        with pytest.raises(MissingExtraError, match=rf"pip install {backend}$"):
            report_of().to_frame(backend=backend)


class TestSaving:
    """Reports are saved as files and loaded."""

    def test_round_trip(self, tmp_path: Path) -> None:
        """A saved report loads equal: results, findings, samples, methods."""
        scorers = [IdRecall(), TextRecall()]
        samples = [*SAMPLES, Sample(contexts=["t\u2028x"], reference_contexts=["t\u2028x\x85"])]
        report = evaluate(samples, scorers, progress=False)
        report.save(tmp_path / "report.jsonl")
        loaded = Report.load(tmp_path / "report.jsonl")
        assert loaded.methods == report.methods
        assert [row.sample for row in loaded] == samples
        assert [row.results for row in loaded] == [row.results for row in report]
        assert str(loaded.summary()) == str(report.summary())

    def test_half_an_emoji_survives(self, tmp_path: Path) -> None:
        """A lone surrogate, legal in JSON input, is saved and read back."""
        sample = Sample(contexts=["\ud83d"], reference_contexts=["\ud83d"])
        evaluate([sample], TextRecall(), progress=False).save(tmp_path / "r.jsonl")
        assert Report.load(tmp_path / "r.jsonl").rows[0].sample == sample

    def test_a_failed_save_leaves_the_old_file(self, tmp_path: Path) -> None:
        """A failed save keeps the old report, and the error names the invalid value."""
        path = tmp_path / "r.jsonl"
        report_of().save(path)
        before = path.read_bytes()
        odd = Sample(retrieved_ids=[1], expected_ids=[1], metadata={(1, 2): 3})  # type: ignore[dict-item]
        with pytest.raises(ReportError, match="must have keys that are str"):
            evaluate([odd], IdRecall(), progress=False).save(path, replace=True)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]

    def test_each_row_is_on_disk_when_it_is_written(self, tmp_path: Path) -> None:
        """A killed run keeps its finished rows, since each is written at once."""
        report = report_of()
        with JsonLinesWriter(tmp_path / "r.jsonl", report.methods) as writer:
            writer.write(report.rows[0].sample, report.rows[0].results)
            assert len(Report.load(tmp_path / "r.jsonl")) == 1

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"", "is not a saved report"),
            (b'{"a": 1}\n', "is not a saved report"),
            (b"\xff\xfe\x00", "is not a saved report"),
            (b'{"kind": "fullrecall report", "version": 99, "methods": []}\n', "version 99"),
        ],
    )
    def test_other_files_and_newer_formats_are_refused(
        self, tmp_path: Path, content: bytes, message: str
    ) -> None:
        """Other files and newer formats are refused with the reason."""
        (tmp_path / "r.jsonl").write_bytes(content)
        with pytest.raises(ReportError, match=message):
            Report.load(tmp_path / "r.jsonl")

    def test_a_cut_off_last_line_is_left_out(self, tmp_path: Path) -> None:
        """The rows of a killed run are read, with a warning that rows are missing."""
        path = tmp_path / "r.jsonl"
        report_of().save(path)
        rows = path.read_bytes().splitlines(keepends=True)[:-1]
        path.write_bytes(b"".join(rows)[:-20])
        with pytest.warns(UserWarning, match="3 samples were read"):
            loaded = Report.load(path)
        assert len(loaded) == 3

    def test_a_broken_line_in_the_middle_is_an_error(self, tmp_path: Path) -> None:
        """A broken line in the middle of a file is an error with its line, not skipped."""
        path = tmp_path / "r.jsonl"
        report_of().save(path)
        lines = path.read_text("utf-8").splitlines()
        lines[2] = lines[2][:-9]
        path.write_text("\n".join(lines) + "\n", "utf-8")
        with pytest.raises(ReportError, match=r"r\.jsonl:3: "):
            Report.load(path)
