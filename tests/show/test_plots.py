"""Plots draw the report's numbers, open no window, and load Matplotlib only when called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import pytest

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import MissingExtraError, ReportError
from fullrecall.measures import Measure, Recall, nDCG


@pytest.fixture(autouse=True)
def pyplot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Return Matplotlib without a screen; a plot that opens a window fails the test."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")

    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a plot was shown"))
    yield plt
    plt.close("all")


def report_of(shift: int = 0) -> Report:
    """Return a report of twelve samples, found at ranks 1 to 4, and one unscored sample."""
    samples = [
        Sample(
            id=str(n),
            retrieved_context_ids=["a", "b", "c", "d"],
            reference_context_ids=["abcd"[max(0, n % 4 - shift)], "z"],
        )
        for n in range(12)
    ]
    samples.append(Sample(id="x", reference_context_ids=["a"]))
    scorers = [IdRecall(), IdRecall(name="again")]
    return evaluate(samples, scorers, progress=False)


def lines_of(ax: Any) -> dict[str, tuple[list[float], list[float]]]:
    """Return the x and y values of each labeled line of axes."""
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in ax.get_lines()
    }


@pytest.mark.parametrize("measure", [Recall, nDCG(gain="exponential")])
def test_the_curve_is_that_of_the_summary(measure: Measure) -> None:
    """The curve has each mean at its k, intervals as bands, and the coverage in the legend."""
    report = report_of()
    ax = report.plot(measure, ks=(1, 2, 4))
    summary = report.summary(*(measure @ k for k in (1, 2, 4)))
    assert lines_of(ax) == {
        f"{score.name} (12 of 13 scored)": ([1, 2, 4], [one.mean for one in score.values()])
        for score in summary
    }
    assert len(ax.collections) == 2
    interval = summary[0][measure @ 4].interval
    assert interval is not None
    heights = {round(y, 9) for _, y in ax.collections[0].get_paths()[0].vertices}
    assert {round(interval.low, 9), round(interval.high, 9)} <= heights
    assert ax.get_xlabel()
    assert ax.get_ylabel() == f"mean {measure.name}"
    ax.figure.canvas.draw()


def test_scores_and_axes_can_be_chosen(pyplot: Any) -> None:
    """`ax` is drawn on and returned; `scores` names the lines; an unknown name is an error."""
    _, ax = pyplot.subplots()
    assert report_of().plot(ax=ax, scores=["again"]) is ax
    assert list(lines_of(ax)) == ["again (12 of 13 scored)"]
    with pytest.raises(KeyError, match="no score 'nothing'"):
        report_of().plot(scores=["nothing"])


def test_lines_differ_without_color() -> None:
    """The lines of scores differ by marker and dash, not only by color."""
    lines = report_of().plot().get_lines()
    looks = {(line.get_marker(), str(line.get_linestyle())) for line in lines}
    assert len(looks) == len(lines)


def test_nothing_to_plot_is_said() -> None:
    """A report without a mean raises an error, in place of an empty plot."""
    with pytest.raises(ReportError, match="nothing to plot"):
        Report([IdRecall().method]).plot()


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error has the command that installs the missing package."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    report = report_of()
    with pytest.raises(MissingExtraError, match=r"pip install matplotlib$"):
        report.plot()


def test_a_k_beyond_all_numbers_is_drawn() -> None:
    """A plot can be drawn at a k far beyond the number of contexts."""
    sample = Sample(retrieved_ids=["a"], expected_ids=["a"])
    ax = evaluate([sample] * 3, IdRecall(), progress=False).plot(ks=(1, 10**30))
    assert list(ax.lines[0].get_xdata()) == [1.0, 1e30]


def test_reports_on_one_plot_differ(pyplot: Any) -> None:
    """Reports drawn on the same axes look different, and each has its name."""
    _, ax = pyplot.subplots()
    for name, report in {"before": report_of(), "after": report_of(1)}.items():
        report.plot(ax=ax, scores=["again"], label=name)
    looks = {line.get_label(): (line.get_color(), line.get_marker()) for line in ax.get_lines()}
    assert list(looks) == [f"{name}: again (12 of 13 scored)" for name in ("before", "after")]
    assert len(set(looks.values())) == 2


def test_a_comparison_draws_both_reports() -> None:
    """A comparison draws one line for each report, with the labels given."""
    report = evaluate(
        [{"expected_ids": ["a"], "retrieved_ids": ["b", "a"]}] * 3, IdRecall(), progress=False
    )
    ax = compare(report, report).plot(ks=(1, 2), labels=("old", "new"))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert [name.partition(":")[0] for name in names] == ["old", "new"]
    assert [line.get_ydata().tolist() for line in ax.lines] == [[0.0, 1.0]] * 2


@pytest.mark.parametrize(
    ("ks", "scale", "ticks"),
    [
        ((2,), "linear", ["2"]),
        ((1, 2), "log", ["1", "2"]),
        (range(1, 13), "log", [str(k) for k in range(1, 13)]),
        (range(1, 14), "log", ["1", "3", "5", "7", "9", "11", "13"]),
        ((1, 1_000), "log", ["1", "1,000"]),
    ],
)
def test_the_axis_of_ranks(ks: Any, scale: str, ticks: list[str]) -> None:
    """Several ranks have a logarithmic axis, and at most twelve of them are labeled."""
    ax = report_of().plot(ks=tuple(ks))
    assert ax.get_xscale() == scale
    assert [label.get_text() for label in ax.get_xticklabels()] == ticks
    assert ax.get_ylim() == (0, 1.02)


def test_lines_take_turns_in_color_marker_and_dash() -> None:
    """Six lines on one plot all differ; the seventh looks like the first."""
    report = report_of()
    ax = None
    for number in range(4):
        ax = report.plot(ax=ax, label=str(number))
    looks = [(line.get_color(), line.get_marker(), line.get_linestyle()) for line in ax.get_lines()]
    assert len(set(looks[:6])) == 6
    assert looks[6] == looks[0]


def test_the_look_of_a_plot() -> None:
    """A plot has grid lines for means only, no box, faint bands, and heads without a frame."""
    ax = report_of().plot(ks=(1, 2))
    assert all(line.get_visible() for line in ax.yaxis.get_gridlines())
    assert not any(line.get_visible() for line in ax.xaxis.get_gridlines())
    assert {name for name, spine in ax.spines.items() if spine.get_visible()} == {"left", "bottom"}
    legend = ax.get_legend()
    assert not legend.get_frame_on()
    assert [band.get_alpha() for band in ax.collections] == [0.15, 0.15]
    assert [line.get_alpha() for line in ax.yaxis.get_gridlines()][:1] == [0.3]
    assert (ax.get_title(), ax.get_xlabel()) == (
        "means with 95% intervals",
        "k, the contexts counted",
    )
    assert tuple(ax.figure.get_size_inches()) == (7.0, 4.3)
