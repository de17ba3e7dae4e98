"""The report over all batches is that of one run."""

from __future__ import annotations

import json
import pickle
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.distributed.batches.made import KINDS, lists, plain, rows, saved

from fullrecall import BatchScorer, ClaimRecall, IdRecall, LLMJudge
from fullrecall.errors import RunStopped
from fullrecall.models import Completion, Failure
from fullrecall.testing import ScriptedChatModel


class TestPartsAndWhole:
    """However a data set is parted, the report over the parts is that of the whole."""

    @settings(max_examples=60, deadline=None)
    @given(
        cuts=st.lists(st.integers(0, 24), max_size=6),
        kinds=st.lists(st.sampled_from(sorted(KINDS)), min_size=7, max_size=7),
        rng=st.randoms(use_true_random=False),
    )
    def test_any_partition(self, cuts: list[int], kinds: list[str], rng: random.Random) -> None:
        """Rows in any order, in parts of any size and kind that come in any order."""
        how = IdRecall()
        shuffled = rows()
        rng.shuffle(shuffled)
        edges = [0, *sorted(cuts), len(shuffled)]
        parts = [
            KINDS[kind](shuffled[start:end])
            for kind, start, end in zip(kinds, edges, edges[1:], strict=False)
        ]
        rng.shuffle(parts)
        whole = plain(rows(), how)

        scorer = BatchScorer(how, position="place")
        report = scorer.report(map(scorer, parts))
        assert list(report) == list(whole)
        assert report.methods == whole.methods

        totals = BatchScorer(how, position="place", keep="summary")
        summary = totals.report(map(totals, parts), rows=24)
        assert summary.complete
        assert str(summary.summary()) == str(whole.summary())
        assert summary.totals() == whole.totals()

    def test_without_a_position_the_batches_order_counts(self) -> None:
        """Where the engine keeps the order, no column is needed."""
        scorer = BatchScorer(IdRecall())
        batches = [lists(rows()[start : start + 7]) for start in range(0, 24, 7)]
        for batch in batches:
            del batch["place"]
        assert list(scorer.report(map(scorer, batches))) == list(plain(rows(), IdRecall()))

    def test_totals_are_small(self) -> None:
        """What a worker sends of a summary stops growing with its rows, with the 1,024th ID."""
        scorer = BatchScorer(IdRecall(), keep="summary", position="place", rename={"group": None})
        (few,) = scorer(lists(rows(1_700)))["fullrecall_totals"]
        (many,) = scorer(lists(rows(5_000)))["fullrecall_totals"]
        assert len(many) < 1.05 * len(few)
        assert scorer(lists(rows(8)))["samples"] == [8]


class TestJudges:
    """Models are asked by the engine, in the worker."""

    def judged(self) -> ScriptedChatModel:
        """Return a model that finds the first claim supported and the other not."""
        verdicts = [
            {"id": 1, "verdict": "supported", "together": False,
             "citations": [{"context": 1, "quote": "tower"}]},
            {"id": 2, "verdict": "not_supported", "together": False, "citations": []},
        ]  # fmt: skip
        return ScriptedChatModel([Completion(json.dumps({"verdicts": verdicts}), 100, 20)])

    def test_as_in_the_plain_run(self, tmp_path: Path) -> None:
        """The verdicts, the evidence and what they cost are in the report."""
        scorer = BatchScorer(ClaimRecall(judge=LLMJudge(self.judged())), position="place")
        report = scorer.report(scorer(part) for part in (lists(rows()[:9]), lists(rows()[9:])))
        whole = plain(rows(), ClaimRecall(judge=LLMJudge(self.judged())))
        assert saved(report, tmp_path) == saved(whole, tmp_path)
        assert sum(row.results[0].usage.calls for row in report) == 19

    def test_a_store_is_shared(self, tmp_path: Path) -> None:
        """What one batch was answered, another one with the same store does not ask again."""
        model = self.judged()
        scorer = BatchScorer(
            ClaimRecall(judge=LLMJudge(model)), position="place", store=tmp_path / "answers.sqlite"
        )
        first = scorer(lists(rows()))
        asked = len(model.requests)
        assert asked == 19
        assert scorer(lists(rows())) == first
        assert len(model.requests) == asked

    def test_the_store_is_found_from_any_directory(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Workers run elsewhere: a relative path is that of where the scorer was made."""
        monkeypatch.chdir(tmp_path)
        scorer = BatchScorer(ClaimRecall(judge=LLMJudge(self.judged())), store="answers.sqlite")
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        batch = lists(rows())
        del batch["place"]
        scorer(batch)
        assert (tmp_path / "answers.sqlite").exists()
        assert not list((tmp_path / "elsewhere").iterdir())

    def test_a_key_that_is_refused_ends_the_job_on_request(self) -> None:
        """Not a job of nothing but unscored samples: the error crosses processes."""
        model = ScriptedChatModel([Completion("", failure=Failure.DENIED, detail="no such key")])
        scorer = BatchScorer(
            ClaimRecall(judge=LLMJudge(model)),
            position="place",
            failed_batches="raise",
            tries=1,
        )
        with pytest.raises(RunStopped, match="no such key") as stopped:
            scorer(lists(rows()))
        again = pickle.loads(pickle.dumps(stopped.value))  # noqa: S301
        assert str(again) == str(stopped.value)
        assert list(again.report) == list(stopped.value.report or ())
