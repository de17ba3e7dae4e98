"""Slices of a report by a field or a function print one line each, the lowest mean first."""

from __future__ import annotations

from typing import Any

import pytest

from fullrecall import IdRecall, Report, Sample, evaluate
from fullrecall.errors import ParameterError, ReportError
from fullrecall.measures import Recall

KINDS: list[tuple[object, str | None]] = [
    ("table", "a"),
    ("table", "x"),
    ("text", "a"),
    (["text", "table", "text"], "x"),
    ("figure", None),
    (None, "a"),
    ("", "a"),
    (2, "a"),
    (True, "a"),
    ({"deep": "yes"}, "x"),
    (1.5, "a"),
]


def report(groups: bool = False) -> Report:  # noqa: FBT001, FBT002
    """Return a report of samples of these kinds, whose only target is found, missed or unscored."""
    samples = [
        Sample(
            id=str(n),
            group=f"g{n // 2}" if groups else None,
            metadata={} if kind is None else {"kind": kind},
            retrieved_ids=None if retrieved is None else [retrieved],
            expected_ids=["a"],
        )
        for n, (kind, retrieved) in enumerate(KINDS)
    ]
    return evaluate(samples, IdRecall(), progress=False)


BY_KIND = """\
               id
           recall     interval   samples   unscored
───────────────────────────────────────────────────
kind
  table     0.333    .001–.959         3          0
  text      0.500    .002–.998         2          0
  2         1.000   .005–1.000         1          0
  True      1.000   .005–1.000         1          0
  figure        -            -         0          1
95% intervals that hold for all 5 slices together
4 samples without kind"""


def test_slices_in_full() -> None:
    """Each value has its mean and interval; lists count for each value, other values for none."""
    slices = report().slices("kind")
    assert str(slices) == BY_KIND
    assert [each.value for each in slices] == ["table", "text", "2", "True", "figure"]
    assert slices["figure"] == ("figure", None, None, 0, 1)
    assert slices.to_dict()["without"] == 4
    assert [each["value"] for each in slices.to_dict()["slices"]][-1] == "figure"


def test_slices_by_a_function_of_a_group_and_of_a_nested_key() -> None:
    """A function returns a value or several; groups and keys of mappings are fields too."""
    by_rank = report().slices(lambda row: ["odd", "all"] if row.position % 2 else "all")
    assert {each.value: each.samples for each in by_rank} == {"odd": 5, "all": 10}
    assert (by_rank.by, by_rank.without) == ("function", 0)

    def half(row: Any) -> str | None:
        return "first" if row.position <= 5 else None

    named = report().slices(half)
    assert (named.by, named.without, [each.value for each in named]) == ("half", 6, ["first"])
    grouped = report(groups=True).slices("group")
    assert [each.value for each in grouped] == ["g0", "g1", "g4", "g2", "g3", "g5"]
    assert grouped["g0"].mean == 0.5
    assert [each.value for each in report().slices("kind.deep")] == ["yes"]


def test_a_mean_of_a_slice_is_over_groups() -> None:
    """Samples of one group count once within a slice, as in the report."""
    whole = report(groups=True).slices(lambda _: "all")
    assert whole["all"].mean == report(groups=True).summary(Recall)[0].mean
    assert whole["all"].samples == 10


@pytest.mark.parametrize("by", [3, None, ["kind"]])
def test_other_values_are_no_field(by: object) -> None:
    """A field is a name or a function."""
    with pytest.raises(ParameterError, match="by must be a name or a function of a row, got"):
        report().slices(by)  # type: ignore[arg-type]


def test_an_unknown_field() -> None:
    """The error has the known fields, or says how to get any."""
    with pytest.raises(ReportError, match="no sample has 'sort' to slice by: choose one of kind"):
        report().slices("sort")
    bare = evaluate([{"retrieved_ids": ["a"], "expected_ids": ["a"]}], IdRecall(), progress=False)
    with pytest.raises(ReportError, match="to slice by: set the metadata or group of each sample"):
        bare.slices("kind")
    with pytest.raises(ReportError, match="no sample has 'function' to slice by"):
        bare.slices(lambda _: None)
