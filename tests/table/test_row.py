"""Rows of a table: the results of one sample."""

from __future__ import annotations

import pickle

import pytest
from tests.precision_by_id import PrecisionById

from fullrecall import IdRecall, Sample, evaluate
from fullrecall.errors import ParameterError
from fullrecall.table.row import Row


def test_results_are_read_by_number_and_by_the_name_of_a_score() -> None:
    """`report[0].results["id_recall"]` is the result of that scorer, however the row is made."""
    sample = Sample(retrieved_ids=["a"], expected_ids=["a", "b"])
    found = evaluate([sample], [IdRecall(), PrecisionById()], progress=False)[0]
    copied = pickle.loads(pickle.dumps(found))  # noqa: S301 - our own bytes
    for row in (found, Row(1, sample, tuple(found.results)), copied):
        assert row.results["id_recall"].missed == ("b",)
        assert row.results["precision_by_id"] == row.results[1] == row.results[-1]
        assert row.results[:1] == (row.results["id_recall"],)
    with pytest.raises(ParameterError, match="no score 'recall': choose one of id_recall, "):
        found.results["recall"]
