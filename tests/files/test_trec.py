"""TREC's qrels and runs are read, with their order and queries that only one of them has."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from fullrecall import Gate, IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import InputError, ParameterError
from fullrecall.measures import Recall
from fullrecall.read import from_qrels_run, read_trec

if TYPE_CHECKING:
    from conftest import LeastPeak, UntilError, Write

QRELS = "q2 0 d1 2\nq2 0 d2 0\nq1 0 d3 1\nq2 0 d4 -1\n"
RUN = "q1 Q0 d3 1 9.5 tag\nq2 Q0 d1 1 3.0 tag\nq2 Q0 d9 2 2.0 tag\n"


def ranked(write: Write, lines: str) -> list[str | None]:
    """Return the IDs that a run with these lines retrieves for `q`."""
    (sample,) = read_trec(write("qrels", "q 0 a 1\n"), write("run", lines))
    return list(sample.retrieved_context_ids)


class TestSamples:
    """A run and its judgments give one sample per query."""

    def test_queries_in_the_order_of_the_qrels(self, write: Write) -> None:
        """Queries keep the order of the qrels, and judgments their grades, even 0 and below."""
        assert list(read_trec(write("qrels", QRELS), write("run", RUN))) == [
            Sample(
                id="q2",
                reference_context_ids={"d1": 2, "d2": 0, "d4": -1},
                retrieved_context_ids=["d1", "d9"],
            ),
            Sample(id="q1", reference_context_ids={"d3": 1}, retrieved_context_ids=["d3"]),
        ]

    def test_a_query_that_the_run_lacks_is_unscored(self, write: Write) -> None:
        """A query that the run lacks is unscored: not left out, as in trec_eval, and not 0."""
        run = write("run", RUN.split("\n", 1)[1])
        _, missing = read_trec(write("qrels", QRELS), run)
        assert missing.retrieval_error == f"query 'q1' is not in the run {run}"
        assert missing.retrieved_context_ids is None
        assert IdRecall().score(missing).status == "unscored"

    def test_a_query_that_the_qrels_lack_is_unjudged(self, write: Write) -> None:
        """The query comes last and has no value, for any `zero_division`."""
        *_, last = read_trec(write("qrels", QRELS), write("run", RUN + "q0 Q0 d1 1 1 tag\n"))
        assert last == Sample(id="q0", judged=False, retrieved_context_ids=["d1"])
        result = IdRecall().score(last)
        assert (result.status, result.reason) == (
            "unjudged",
            "judged=False: no relevance judgment",
        )
        assert result[Recall(zero_division=0.0) @ 5] is None

    def test_a_query_of_irrelevant_documents_is_undefined(self, write: Write) -> None:
        """Grades of 0 are judgments, not targets."""
        (sample,) = read_trec(write("qrels", "q 0 a 0\n"), write("run", "q Q0 a 1 1 t\n"))
        assert IdRecall().score(sample).status == "undefined"

    @pytest.mark.parametrize(
        ("qrels", "run"),
        [
            (QRELS.replace(" ", "\t"), RUN.replace(" ", "\t")),
            (QRELS.replace("\n", "\r\n"), RUN.replace("\n", "\r\n")),
            ("\n" + QRELS.replace("\n", "\n\n"), "\ufeff" + RUN),
            (gzip.compress(QRELS.encode()), gzip.compress(RUN.encode())),
            (QRELS.replace(" ", "   ").replace("2\n", "2.0\n"), RUN.replace(" ", "  ")),
            (f"# pooled\n{QRELS}# end\n", "#\n" + RUN.replace("\n", "\n# next\n")),
            (QRELS, RUN.replace("tag", "BM25 k1 = 0.9")),
            (QRELS, RUN.replace(" ", "\t").replace("tag", "BM25 k1 = 0.9")),
            (QRELS, "".join(sorted(RUN.splitlines(keepends=True), key=lambda x: x[-10:]))),
            (QRELS, RUN.encode("utf-16")),
        ],
        ids=[
            "tabs",
            "Windows",
            "blank lines and BOM",
            "gzip",
            "padding and decimals",
            "comments",
            "a tag with blanks",
            "a tag with blanks, tabs",
            "mixed queries",
            "UTF-16",
        ],
    )
    def test_every_usual_way_to_save_them_reads_alike(
        self, write: Write, qrels: str | bytes, run: str | bytes
    ) -> None:
        """Separators, line endings and compression make no difference."""
        plain = list(read_trec(write("a.qrels", QRELS), write("a.run", RUN)))
        assert list(read_trec(write("b.qrels", qrels), write("b.run", run))) == plain

    @pytest.mark.parametrize("header", ["query-id\tcorpus-id\tscore", "Query_ID corpus_id score"])
    def test_qrels_of_beir(self, write: Write, header: str) -> None:
        """Three columns are qrels too, under the header that says so; IDs may hold spaces."""
        qrels = write("qrels", f"{header}\nq 1\td 1\t2\nq2\td1\t0\n")
        first, second = read_trec(qrels, write("run", "q 1\tQ0\td 1\t1\t1\tt\n"))
        assert first == Sample(
            id="q 1", reference_context_ids={"d 1": 2}, retrieved_context_ids=["d 1"]
        )
        assert second.id == "q2"

    def test_a_judgment_that_stands_twice(self, write: Write, until_error: UntilError) -> None:
        """The same grade twice is one judgment; another is an error."""
        qrels, run = write("twice", f"{QRELS}q2 0 d1 1\n"), write("run", RUN)
        _, error = until_error(read_trec(qrels, run))
        assert (error.path, error.line) == (str(qrels), 5)
        assert "query 'q2' judges 'd1' twice: 2 before, 1 here" in error.problem
        (sample,) = read_trec(write("qrels", "q 0 a 1\n" * 2), write("run", "q Q0 a 1 1 t\n"))
        assert sample.reference_context_ids == Sample(reference_ids=["a"]).reference_context_ids


class TestOrder:
    """By default, documents are ordered by score as in trec_eval."""

    def test_by_score_as_trec_eval_sorts(self, write: Write) -> None:
        """Scores descend; of equal scores the last document by ID is first; ranks are ignored."""
        lines = "q Q0 a 1 0.5 t\nq Q0 c 2 0.5 t\nq Q0 b 3 0.5 t\nq Q0 d 4 0.9 t\nq Q0 e - -1e3 t\n"
        assert ranked(write, lines) == ["d", "c", "b", "a", "e"]

    def test_scores_that_single_precision_cannot_tell_apart_are_ties(self, write: Write) -> None:
        """trec_eval keeps scores as C floats, so 1 and 1 + 1e-9 tie there."""
        assert ranked(write, "q Q0 a 1 1.000000001 t\nq Q0 b - 1.0 t\n") == ["b", "a"]

    def test_ties_in_the_order_given(self, write: Write) -> None:
        """With `ties="file"`, equal scores keep the given order, in files and dicts."""
        scores = {"a": 1.0, "c": 1.0, "b": float("inf")}
        lines = "".join(f"q Q0 {name} 1 {score} t\n" for name, score in scores.items())
        for ties, order in (("trec", ["b", "c", "a"]), ("order", ["b", "a", "c"])):
            run = write("run", lines)
            (read,) = read_trec(write("qrels", "q 0 a 1\n"), run, ties=ties)  # type: ignore[arg-type]
            (given,) = from_qrels_run({"q": {"a": 1}}, {"q": scores}, ties=ties)  # type: ignore[arg-type]
            assert list(read.retrieved_context_ids or ()) == order
            assert given == read
            assert list(read.metadata.values()) == [[[2, 3]]]

    def test_other_ties_are_an_error(self) -> None:
        """An unknown order of ties is an error at the call, not at the first sample."""
        with pytest.raises(ParameterError, match="ties"):
            from_qrels_run({}, {}, ties="random")  # type: ignore[arg-type]
        with pytest.raises(ParameterError, match="ties"):
            read_trec("none", "none", ties="random")  # type: ignore[arg-type]

    def test_a_summary_says_where_ties_decide(self, tmp_path: Path) -> None:
        """A summary notes ties that straddle the largest k, in memory and from a saved report."""
        scores = dict.fromkeys(map(str, range(8)), 1.0)
        run = {"q1": scores, "q2": {"0": 2.0, "1": 1.0}}
        judged = {"q1": {"0": 1}, "q2": {"0": 1}}
        report = evaluate(from_qrels_run(judged, run), IdRecall(), progress=False)
        report.save(tmp_path / "r.parquet")
        note = "ties straddle rank 5 in 1 of 2 samples: the order of equal scores decides what"
        for each in (report, Report.load(tmp_path / "r.parquet")):
            assert note in " ".join(str(each.summary(Recall @ 1, Recall @ 5)).split())
            assert "straddle" not in str(each.summary(Recall @ 8))
            assert "straddle" not in str(each.summary(Recall))  # No rank cuts the list.

    def test_documents_that_come_twice_are_kept(self, write: Write) -> None:
        """Repeated documents are kept: scorers cut at k first, then count the first occurrence."""
        assert ranked(write, "q Q0 a 1 2 t\nq Q0 a 2 1 t\n") == ["a", "a"]


class TestUnjudged:
    """A query without judgments is left out of means and counted apart, in every output."""

    @pytest.fixture
    def report(self) -> Report:
        """Return a report of two judged and two unjudged queries."""
        run = {name: {"a": 1.0} for name in ("q1", "q2", "q3", "q4")}
        qrels = {"q1": {"a": 1}, "q2": {"b": 0}}
        return evaluate(from_qrels_run(qrels, run), IdRecall(), progress=False)

    def test_means_are_those_of_trec_eval(self, report: Report) -> None:
        """The mean is over the judged queries that the run has: 0.5 here, not 0.25."""
        recall = Recall(zero_division=0.0) @ 5
        (score,) = report.summary(recall)
        assert (score[recall].mean, score[recall].samples) == (0.5, 2)
        assert (score.scored, score.undefined, score.unscored, score.unjudged) == (1, 1, 0, 2)
        assert score.coverage == 1.0
        assert report.metrics()["id_recall/n_unjudged"] == 2

    @pytest.mark.parametrize("name", ["r.parquet", "r.jsonl"])
    def test_it_survives_saving(self, report: Report, tmp_path: Path, name: str) -> None:
        """An unjudged query survives saving, with its status and its count in every sheet."""
        report.save(tmp_path / name)
        loaded = Report.load(tmp_path / name)
        assert list(loaded.rows) == list(report.rows)
        assert "2 unjudged in id_recall: no relevance judgment" in str(loaded.summary())
        assert loaded.rows[3].results[0].status == "unjudged"

    def test_comparisons_leave_it_out(self, report: Report) -> None:
        """An unjudged query is not a missing score: comparisons and gates omit it."""
        change = compare(report, report)["id_recall"]
        assert (change.unpaired["unjudged"], change.unpaired["undefined"], change.uncompared) == (
            2,
            1,
            0,
        )
        assert "2 not compared in id_recall: without a relevance judgment" in str(
            compare(report, report)
        )
        assert Gate(Recall @ 5 >= 0.0).check(report).outcome == "pass"

    @pytest.mark.rooms
    def test_the_page_shows_it(self, report: Report) -> None:
        """The page has a column and a filter for unjudged queries."""
        page = report.to_html()
        assert "Unjudged" in page
        assert '"unjudged"' in page


class TestMemory:
    """A run is read query by query."""

    def test_a_run_does_not_come_into_memory(self, write: Write, least_peak: LeastPeak) -> None:
        """The lines of a run are looked up when their query is reached."""
        lines = "".join(
            f"q{query} Q0 document-{query}-{rank} {rank} {99 - rank} t\n"
            for query in range(200)
            for rank in range(99)
        )
        qrels = write("qrels", "".join(f"q{query} 0 a 1\n" for query in range(200)))
        run = write("run", lines)

        def read_all() -> None:
            count = sum(len(sample.retrieved_context_ids or ()) for sample in read_trec(qrels, run))
            assert count == 200 * 99

        assert least_peak(read_all) < len(lines)


class TestErrors:
    """Each error names its file and line."""

    @pytest.mark.parametrize(
        ("bad", "says"),
        [
            ("q1 d3 1", "got 'q1 d3 1'"),
            ("q1 Q0 d3 1 9.5 tag", "qrels come first, a run second"),
            ("q1 0 d3 high", "with a number as grade, got 'q1 0 d3 high'"),
            ("q1 0 d3 nan", "with a number as grade, got 'q1 0 d3 nan'"),
        ],
    )
    def test_qrels(self, write: Write, until_error: UntilError, bad: str, says: str) -> None:
        """An invalid line of the qrels is an error at its line."""
        qrels = write("qrels", f"{QRELS}\n{bad}\n")
        _, error = until_error(read_trec(qrels, write("run", RUN)))
        assert (error.path, error.line) == (str(qrels), 6)
        assert says in error.problem

    @pytest.mark.parametrize(
        ("bad", "says"),
        [
            ("q1 Q0 d3 1 9.5", "got 'q1 Q0 d3 1 9.5'"),
            ("q1 0 d3 1", "qrels come first, a run second"),
            ("q1 Q0 d3 1 high tag", "with a number as score, got 'q1 Q0 d3 1 high tag'"),
            ("q1 Q0 d3 1 nan tag", "with a number as score, got 'q1 Q0 d3 1 nan tag'"),
        ],
    )
    def test_runs(self, write: Write, until_error: UntilError, bad: str, says: str) -> None:
        """An invalid line of the run is an error at its line."""
        run = write("run", f"{RUN}\n{bad}\n")
        _, error = until_error(read_trec(write("qrels", QRELS), run))
        assert (error.path, error.line) == (str(run), 5)
        assert says in error.problem

    def test_bytes_that_are_no_text(self, write: Write, until_error: UntilError) -> None:
        """A byte that is not text is an error that names its file of the two."""
        run = write("run", RUN.encode() + b"q1 Q0 \xe9 2 1 tag\n")
        _, error = until_error(read_trec(write("qrels", QRELS), run))
        assert (error.path, error.line) == (str(run), 4)

    @pytest.mark.parametrize("empty", ["", "\n\n"])
    def test_empty_files(self, write: Write, until_error: UntilError, empty: str) -> None:
        """An empty qrels or run is an error."""
        good_qrels, good_run, bad = write("q", QRELS), write("r", RUN), write("e", empty)
        _, error = until_error(read_trec(bad, good_run))
        assert str(error) == f"{bad}: holds no judgments"
        _, error = until_error(read_trec(good_qrels, bad))
        assert str(error) == f"{bad}: holds no results"

    def test_missing_files_are_met_at_the_call(self, write: Write, tmp_path: Path) -> None:
        """A missing file is an error at the call, not at the first sample."""
        with pytest.raises(InputError, match="no such file"):
            read_trec(write("qrels", QRELS), tmp_path / "typo")
