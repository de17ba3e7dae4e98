"""A cell of a saved report agrees with its sample in value, in whatever form it is written."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("pyarrow", reason="needs the parquet extra")

from fullrecall.files.reports.parquet import _difference


@pytest.mark.parametrize(
    ("saved", "derived", "name"),
    [
        ('{"a": 1, "b": [2]}', '{"b":[2],"a":1.0}', "s_details"),
        (None, None, "s_details"),
        (None, [], "s_first"),
        ([], None, "s_first"),
        ("", None, "s_reason"),
        (0.5, 0.5, "s"),
        (0.0, 0.0, "s"),
        (1, 1.0000000000000002, "s"),
    ],
)
def test_equal_cells(saved: Any, derived: Any, name: str) -> None:
    """Spaces and the order of names do not matter in JSON; an empty list equals none."""
    assert _difference(saved, derived, name) is None


@pytest.mark.parametrize(
    ("saved", "derived", "name", "problem"),
    [
        ('{"a": 2}', '{"a": 1}', "s_details", "s_details.a must be 1"),
        ("{", '{"a": 1}', "s_details", "s_details must be '{\"a\": 1}', as the sample gives, got"),
        (None, '{"a": 1}', "s_details", "s_details must be"),
        ('{"a": 1}', None, "s_details", "s_details must"),
        (0.0, None, "s", "s must"),
        (None, 0.0, "s", "s must be 0.0"),
        (True, 1.0, "s", "s must be 1.0"),
        ([1], [2], "s_first", "s_first[0] must be 2"),
        ([1], None, "s_first", "s_first must"),
    ],
)
def test_other_cells(saved: Any, derived: Any, name: str, problem: str) -> None:
    """The problem names the cell, its value by the sample, and the one in the file."""
    found = _difference(saved, derived, name)
    assert found is not None
    assert found.startswith(problem)
