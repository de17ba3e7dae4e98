"""Values of metadata that JSON keeps as they are; others are refused, or converted by a default."""

from __future__ import annotations

import re
from datetime import date
from math import inf, nan
from types import MappingProxyType
from typing import Any

import pytest

from fullrecall.errors import ReportError
from fullrecall.files.reports.records import as_kept

KEPT = "must be a value that JSON keeps as it is, got"


@pytest.mark.parametrize(
    "value",
    [
        None, True, 0, -1, 1.5, "", "text", [], [1, ["a"]], {}, {"a": {"b": [None]}},
        1e308,
    ],
)  # fmt: skip
def test_plain_values_are_kept(value: Any) -> None:
    """Plain values are returned as they are, at any depth."""
    kept = as_kept(value, "metadata")
    assert kept == value
    assert type(kept) is type(value)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (nan, f"metadata {KEPT} nan"),
        (-inf, f"metadata {KEPT} -inf"),
        ((1,), f"metadata {KEPT} (1,)"),
        ({1}, f"metadata {KEPT} {{1}}"),
        (MappingProxyType({"a": 1}), f"metadata {KEPT} mappingproxy"),
        (date(2026, 1, 2), f"metadata {KEPT} datetime.date"),
        ([1, nan], f"metadata[1] {KEPT} nan"),
        ({"a": {"b": [b"x"]}}, f"metadata.a.b[0] {KEPT} b'x'"),
        ({1: 2}, "metadata must have keys that are str, got 1"),
    ],
)
def test_other_values_are_refused(value: Any, problem: str) -> None:
    """The error has the place of the value."""
    with pytest.raises(ReportError, match=f"^{re.escape(problem)}"):
        as_kept(value, "metadata")


@pytest.mark.parametrize(
    ("value", "kept"),
    [
        ((1, date(2026, 1, 2)), [1, "2026-01-02"]),
        ({date(2026, 1, 2): {3}}, {"2026-01-02": "{3}"}),
        ([nan], ["nan"]),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
    ],
)
def test_a_default_converts_other_values(value: Any, kept: Any) -> None:
    """With `default=str`, tuples are lists, and other values and keys are texts."""
    assert as_kept(value, "metadata", str) == kept


def test_keys_that_are_one_as_text() -> None:
    """Keys that a default makes equal are refused, and so is a default that fails."""
    with pytest.raises(ReportError, match="metadata must have keys that differ as text"):
        as_kept({1: "a", "1": "b"}, "metadata", str)
    with pytest.raises(ReportError, match="metadata: default must make a plain value of b'x', it"):
        as_kept(b"x", "metadata", lambda _: 1 / 0)
    with pytest.raises(ReportError, match=KEPT):
        as_kept(b"x", "metadata", None)


def test_whole_numbers_that_python_can_read() -> None:
    """Whole numbers have at most 4,000 digits, since Python reads no more."""
    most = 10**4_000 - 1
    assert as_kept([most, -most], "metadata") == [most, -most]
    for number in (most + 1, -most - 1):
        with pytest.raises(ReportError, match=f"^metadata {KEPT}"):
            as_kept(number, "metadata")
