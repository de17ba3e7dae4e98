"""Plots: they draw the report's own numbers, show nothing, and need Matplotlib only when called."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from fullrecall import IdRecall, Report, Sample, compare, evaluate
from fullrecall.errors import MissingExtraError, ReportError
from fullrecall.measures import Measure, Recall, nDCG
from fullrecall.views.plots import plot_causes


@dataclass(frozen=True)
class Miss:
    """What a plot reads of a diagnosed miss."""

    cause: str
    score: str = "id_recall@5"
    sample: str = ""
    target: str = ""
    detail: str = ""
    rank: int | None = None


@dataclass(frozen=True)
class Diagnosis:
    """A diagnosis, of the shape that the plot reads."""

    misses: tuple[Miss, ...]

    @property
    def fixes(self) -> dict[str, str]:
        """What the plot does not read."""
        return {}


@pytest.fixture(autouse=True)
def pyplot(monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Matplotlib without a screen; a plot that shows itself fails the test."""
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.use("Agg")

    monkeypatch.setattr(plt, "show", lambda *_, **__: pytest.fail("a plot was shown"))
    yield plt
    plt.close("all")


def report_of(shift: int = 0) -> Report:
    """Return the IDs of twelve samples, found at rank 1 to 4, and one sample unscored."""
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
    """Return what each labeled line of axes goes through."""
    return {
        line.get_label(): (list(line.get_xdata()), list(line.get_ydata()))
        for line in ax.get_lines()
    }


@pytest.mark.parametrize("measure", [Recall, nDCG(gain="exponential")])
def test_the_curve_is_that_of_the_summary(measure: Measure) -> None:
    """Every mean of any measure at its k, the coverage in the legend, the intervals as bands."""
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
    with pytest.raises(ReportError, match="no score 'nothing'"):
        report_of().plot(scores=["nothing"])


def test_lines_differ_without_color() -> None:
    """Marker and dash tell the scores apart where colors do not."""
    lines = report_of().plot().get_lines()
    looks = {(line.get_marker(), str(line.get_linestyle())) for line in lines}
    assert len(looks) == len(lines)


def test_nothing_to_plot_is_said() -> None:
    """A report without a mean is no empty plot."""
    with pytest.raises(ReportError, match="nothing to plot"):
        Report([IdRecall().method]).plot()
    with pytest.raises(ReportError, match="nothing to plot"):
        plot_causes(Diagnosis(()))


def test_before_and_after_are_those_of_the_comparison() -> None:
    """Both curves are means over the samples compared."""
    comparison = compare(report_of(), report_of(1))
    ax = comparison.plot(scores=["id_recall"])
    at = comparison["id_recall"].at
    assert list(at) == [1, 3, 5, 10]
    assert lines_of(ax) == {
        "id_recall (12 compared), before": (list(at), [one.before for one in at.values()]),
        "id_recall (12 compared), after": (list(at), [one.after for one in at.values()]),
    }


def test_the_band_is_the_interval_of_the_change() -> None:
    """From the mean before: it holds that mean exactly where no change is shown."""
    comparison = compare(report_of(), report_of(1))
    ax = comparison.plot(scores=["id_recall"])
    (ends,) = [c for c in ax.collections if type(c).__name__ == "LineCollection"]
    drawn = [[tuple(point) for point in segment] for segment in ends.get_segments()]
    expected = []
    for k, one in comparison["id_recall"].at.items():
        assert one.interval is not None
        assert one.before is not None
        low, high = one.before + one.interval.low, one.before + one.interval.high
        expected.append([(k, pytest.approx(low)), (k, pytest.approx(high))])
    assert drawn == expected
    assert "before plus the 95% interval of the change" in ax.get_title()


def test_any_measure_is_drawn_before_and_after() -> None:
    """A measure that was compared at several ks has its curves; one that was not, none."""
    comparison = compare(report_of(), report_of(1), nDCG @ 1, nDCG @ 4)
    ax = comparison.plot(nDCG, scores=["again"])
    after = [comparison["again"][nDCG @ k].after for k in (1, 4)]
    assert lines_of(ax)["again (12 compared), after"] == ([1, 4], after)
    assert ax.get_ylabel() == "mean ndcg"
    with pytest.raises(ReportError, match="nothing to plot"):
        comparison.plot()


TWO_SCORES = Diagnosis(
    (
        Miss("beyond_k"),
        Miss("not_in_corpus"),
        Miss("beyond_k"),
        Miss("not_in_corpus", "claim_recall@5"),
    )
)


def test_causes_are_counted() -> None:
    """One bar for each cause, the most frequent on top, with its count and share."""
    ax = plot_causes(Diagnosis(TWO_SCORES.misses[:3]))
    assert [bar.get_width() for bar in ax.patches] == [1, 2]
    assert [tick.get_text() for tick in ax.get_yticklabels()] == ["not in corpus", "beyond k"]
    assert "2 (67%)" in [text.get_text() for text in ax.texts]
    assert ax.get_xlabel() == "targets missed by id_recall@5, of 3"


def test_causes_of_several_scores_are_not_added_up() -> None:
    """Each score has bars of its own, with shares of its own misses; one can be drawn alone."""
    ax = plot_causes(TWO_SCORES)
    assert [[bar.get_width() for bar in bars] for bars in ax.containers] == [[2, 1], [0, 1]]
    assert [bars.get_label() for bars in ax.containers] == [
        "id_recall@5, of 3",
        "claim_recall@5, of 1",
    ]
    assert [text.get_text() for text in ax.texts] == ["2 (67%)", "1 (33%)", "0 (0%)", "1 (100%)"]
    ax.figure.canvas.draw()
    alone = plot_causes(TWO_SCORES, score="claim_recall@5")
    assert [bar.get_width() for bar in alone.patches] == [1]
    with pytest.raises(ReportError, match="no miss of 'claim_recall' to plot: choose one of id_"):
        plot_causes(TWO_SCORES, score="claim_recall")


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is the command that installs what is missing."""
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    report = report_of()
    with pytest.raises(MissingExtraError, match=r"pip install matplotlib$"):
        report.plot()


def test_a_k_beyond_all_numbers_is_drawn() -> None:
    """Whoever asks for all contexts by an endless k gets a plot."""
    sample = Sample(retrieved_ids=["a"], expected_ids=["a"])
    ax = evaluate([sample] * 3, IdRecall(), progress=False).plot(ks=(1, 10**30))
    assert list(ax.lines[0].get_xdata()) == [1.0, 1e30]


def test_reports_on_one_figure_keep_their_colors(pyplot: Any) -> None:
    """What is drawn again, on other axes too, looks alike; another report does not."""
    _, (left, right) = pyplot.subplots(1, 2)
    before, after = report_of(), report_of(1)
    before.plot(ax=left, scores=["again"], label="before")
    after.plot(ax=left, scores=["again"], label="after")
    after.plot(ax=right, scores=["again"], label="after")
    looks = [
        {line.get_label(): (line.get_color(), line.get_marker()) for line in ax.get_lines()}
        for ax in (left, right)
    ]
    first, second = (f"{name}: again (12 of 13 scored)" for name in ("before", "after"))
    assert looks[0][first] != looks[0][second]
    assert looks[1] == {second: looks[0][second]}
    before.plot(ax=left, scores=["again"])
    after.plot(ax=left, scores=["again"])
    colors = {line.get_color() for line in left.get_lines()}
    assert len(colors) == 4, "without a label each report has its own"
