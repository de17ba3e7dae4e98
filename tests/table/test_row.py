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


def test_results_by_index_slice_and_name() -> None:
    """Results are read by an index, a slice, or a score's name; other keys are errors."""
    rows = [{"id": "q", "user_input": "why?", "retrieved_ids": ["a"], "expected_ids": ["a"]}]
    (row,) = evaluate(rows, [IdRecall(), IdRecall(name="again")], progress=False)
    assert row.results["again"] is row.results[1] is row.results[-1]
    assert row.results[:1] == (row.results[0],)
    assert row.results[True] is row.results[1]
    with pytest.raises(ParameterError, match="no score 'x': choose one of id_recall, again"):
        row.results["x"]
    for key in (1.0, None, b"again"):
        with pytest.raises(TypeError):
            row.results[key]  # type: ignore[call-overload]
    with pytest.raises(IndexError):
        row.results[2]
    assert repr(row) == "Row(q: 1.000 id_recall, 1.000 again)"
    assert str(row).startswith("q\nwhy?\n")
    either = {"retrieved_ids": ["a", "x", "b"], "expected_ids": [["a", "b"]]}
    (row,) = evaluate([either], IdRecall(), progress=False)
    assert row.results[0].findings[0].ranks == (1, 3)
    with pytest.raises(AttributeError, match="'Row' object has no attribute 'samples'"):
        row.samples  # type: ignore[attr-defined] # noqa: B018
