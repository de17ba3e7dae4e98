"""Groups whose samples lie in several parts; parts of another evaluation."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.distributed.totals.made import ROWS, Table, by_key, plain, scorer, table

from fullrecall import BatchScorer, ClaimRecall, LLMJudge
from fullrecall.errors import ReportError
from fullrecall.judges.prompts import Prompts
from fullrecall.measures import Recall
from fullrecall.results import Gate
from fullrecall.testing import ScriptedChatModel


class TestGroups:
    """Samples of one group lie in any part; each group counts once."""

    def made(self) -> tuple[BatchScorer, list[Table]]:
        """Return a scorer and what it makes of eight batches."""
        how = scorer()
        return how, [how(table(range(start, start + 6))) for start in range(0, ROWS, 6)]

    def test_merged_groups_have_no_names(self) -> None:
        """What a bucket's worker sends on is one value for each group, and small."""
        how, made = self.made()
        merged = [how.merged(each) for each in by_key(made)]
        texts = [text for each in merged for text in each["fullrecall_totals"]]
        assert '"g3"' in str(made)
        assert not any('"g3"' in text for text in texts)
        summary = how.report(merged, rows=ROWS).summary()[0]
        assert summary.main.groups == plain(range(ROWS)).summary()[0].main.groups
        assert summary.bounds == plain(range(ROWS)).summary()[0].bounds

    @pytest.mark.parametrize("threshold", [0.2, 0.4, 0.9])
    def test_a_gate_decides_the_same(self, threshold: float) -> None:
        """Gaps in groups at their worst and at their best are merged exactly, too."""
        how, made = self.made()
        merged = [how.merged(each) for each in by_key(made)]
        gate = Gate(Recall >= threshold)
        mine, expected = gate.check(how.report(merged, rows=ROWS)), gate.check(plain(range(ROWS)))
        assert mine.to_dict() == expected.to_dict()

    def test_a_bucket_that_was_lost(self) -> None:
        """Parts are there and their groups are not: no summary is made of the rest."""
        how, made = self.made()
        merged = [how.merged(each) for each in by_key(made)]
        (lost,) = [each for each in merged if each["fullrecall_key"] == [1]]
        with pytest.raises(ReportError, match="the groups of bucket 1 are not those of the parts"):
            how.report([each for each in merged if each is not lost], rows=ROWS)

    def test_merged_without_grouping(self) -> None:
        """A group that is in two merges would count twice."""
        how, made = self.made()
        with pytest.raises(ReportError, match=r"merged in two places: group by .*fullrecall_key"):
            how.report([how.merged(each) for each in made], rows=ROWS)


class TestIdentity:
    """Parts of other scorers, judges and prompts do not add up."""

    @pytest.mark.parametrize(
        ("other", "what"),
        [
            (lambda judge: ClaimRecall(judge=judge, partial_credit=0.5), "scorers"),
            (lambda judge: ClaimRecall(judge=LLMJudge(judge.model, window=999)), "judges"),
            (
                lambda judge: ClaimRecall(
                    judge=LLMJudge(judge.model, prompts=Prompts(version="mine"))
                ),
                "judges",
            ),
        ],
    )
    @pytest.mark.parametrize("keep", ["rows", "summary"])
    def test_another_way(self, other: Callable[[Any], Any], what: str, keep: Any) -> None:
        """The error says which of them differ."""
        judge = LLMJudge(ScriptedChatModel([]))
        batch = {"place": [0], "reference_claims": [["c"]], "retrieved_contexts": [[]]}
        ours, theirs = (
            BatchScorer(how, position="place", keep=keep)
            for how in (ClaimRecall(judge=judge), other(judge))
        )
        with pytest.raises(ReportError, match=f"scored with other {what}"):
            ours.report(theirs(batch), rows=1)

    def test_other_cells(self) -> None:
        """Parts in cells of two sizes cannot be told apart."""
        with pytest.raises(ReportError, match=r"of 2 and of 3 rows do not add up: .*part_size"):
            scorer().report(scorer(part_size=3)(table(range(6))), rows=6)

    def test_a_plan_is_needed(self) -> None:
        """Without one, nobody knows whether the last part was lost."""
        with pytest.raises(ReportError, match="rows is missing: pass rows="):
            scorer().report(scorer()(table(range(6))))

    def test_rows_beyond_the_plan(self) -> None:
        """They are no part of it: the report is not what was planned."""
        report = scorer().report(scorer()(table(range(6))), rows=range(1, 4))
        assert report.stopped == "rows that are not planned are there: 0, 4 to 5"
