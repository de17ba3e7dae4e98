"""Batches that raise, and rows that are no samples."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from fullrecall.distributed import batches
from tests.distributed.totals.made import ROWS, figures, plain, scorer, table

from fullrecall import BatchScorer, IdRecall
from fullrecall.errors import InputError


class TestFailures:
    """A batch that raises is tried again, and then missing, with the error."""

    @pytest.fixture(autouse=True)
    def no_pause(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Do not wait between two tries."""
        monkeypatch.setattr(batches, "_PAUSE_SECONDS", 0)

    @staticmethod
    def failing(monkeypatch: pytest.MonkeyPatch, when: Callable[[list[int]], bool]) -> None:
        """Have `_scored` raise for batches of such positions."""
        scored = BatchScorer._scored

        def fail(self: BatchScorer, read: Any, positions: list[int]) -> Any:
            if when(positions):
                raise MemoryError("out of memory")
            return scored(self, read, positions)

        monkeypatch.setattr(BatchScorer, "_scored", fail)

    @pytest.mark.parametrize("keep", ["rows", "summary"])
    def test_always(self, keep: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        """The report of the others, incomplete, with the error; a later success makes it whole."""
        how = scorer() if keep == "summary" else BatchScorer(IdRecall(), position="place")
        with monkeypatch.context() as patch:
            self.failing(patch, lambda positions: 20 in positions)
            made = [how(table(range(start, start + 16))) for start in (0, 16, 32)]
        report = how.report(made, rows=ROWS)
        assert figures(report) == figures(plain([*range(16), *range(32, ROWS)]))
        assert report.stopped == (
            "16 of 48 rows are missing: 16 to 31; rows 16 to 31 failed: MemoryError: out of memory"
        )
        report = how.report([*made, how(table(range(16, 32)))], rows=ROWS)
        assert report.complete
        assert figures(report) == figures(plain(range(ROWS)))

    def test_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A second try that works leaves no trace."""
        failed: list[int] = []

        def first(positions: list[int]) -> bool:
            failed.append(positions[0])
            return len(failed) == 1

        self.failing(monkeypatch, first)
        report = scorer().report(scorer()(table(range(ROWS))), rows=ROWS)
        assert failed == [0, 0]
        assert report.complete
        assert figures(report) == figures(plain(range(ROWS)))

    def test_raised_on_request(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """For an engine that is to try elsewhere."""
        self.failing(monkeypatch, lambda _: True)
        with pytest.raises(MemoryError):
            scorer(failed_batches="raise")(table(range(4)))

    def test_many(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Of many failures the first are quoted, the others counted."""
        self.failing(monkeypatch, lambda _: True)
        made = [scorer()(table([start])) for start in range(9)]
        told = scorer().report(made, rows=9).stopped
        assert told is not None
        assert told.count("MemoryError") == 3
        assert told.endswith("6 more batches failed, of rows 3 to 8")


class TestBadRows:
    """A row that is no sample is unscored, with its reason, and ends nothing."""

    def test_it_is_counted_and_named(self) -> None:
        """In the table, in the report's rows, in its summary, and by position."""
        how = BatchScorer(IdRecall(), position="place")
        scores = how(table(range(ROWS)))
        bad = {place for place in range(ROWS) if place % 13 == 7}
        problem = "retrieved_context_ids: expected a list, got the str 'no list'"
        told = {n: why for n, why in enumerate(scores["fullrecall_problem"]) if why is not None}
        assert told.keys() == bad
        assert all(why.startswith(problem) for why in told.values())
        report = how.report(scores, rows=ROWS)
        assert report.bad_rows == told
        assert report.complete
        assert {row.position - 1 for row in report if "bad row" in row.results[0].note} == bad
        assert report.rows[20].sample.id is None  # a 20 % 5 == 0 has none
        assert report.rows[7].sample.id == "q7"
        assert report.rows[7].sample.group == "g7"
        reasons = report.summary()[0].reasons
        assert sum(n for why, n in reasons.items() if why.startswith("bad row: ")) == len(bad)

    def test_raised_on_request(self) -> None:
        """The first one, by its position."""
        with pytest.raises(InputError, match="sample 7: retrieved_context_ids: expected a list"):
            scorer(bad_rows="raise")(table(range(ROWS)))

    @pytest.mark.parametrize(
        "cells",
        [
            {"expected_ids": {"d1": float("nan")}},
            {"retrieved_contexts": [{"text": 5}]},
            {"id": [1]},
            {"group": {"a": 1}},
            {"metadata": "text"},
            {"reference_claims": 5},
            {"user_input": b"\xff"},
        ],
    )
    def test_whatever_is_wrong(self, cells: dict[str, Any]) -> None:
        """One row of any other form leaves its neighbors as they are."""
        good: dict[str, Any] = {"place": 0, "retrieved_ids": ["a"], "expected_ids": ["a"]}
        every = [good, good | cells | {"place": 1}, good | {"place": 2}]
        names = {name for each in every for name in each}
        how = BatchScorer(IdRecall(), position="place")
        scores = how({name: [each.get(name) for each in every] for name in names})
        report = how.report(scores, rows=3)
        assert [row.results[0].score for row in report] == [1.0, None, 1.0]
        assert list(report.bad_rows) == [1]

    def test_the_first_thousand_are_kept(self) -> None:
        """However many there are, and in whatever order: totals stay small."""
        how = scorer(part_size=500)
        made = [
            how({"place": list(range(n, n + 500)), "retrieved_ids": ["x"] * 500})
            for n in range(0, 3_000, 500)
        ]
        for some in (made, made[::-1]):
            report = how.report(some, rows=3_000)
            assert list(report.bad_rows) == list(range(1_000))
            assert report.summary()[0].unscored == 3_000
