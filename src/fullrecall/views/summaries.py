"""What a report says, as sheets: its summary, slices, the smallest k."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from fullrecall.corpus import STALE
from fullrecall.counts import counted
from fullrecall.measures import Budget
from fullrecall.results.bounds import CONFIDENCE, upper_bound
from fullrecall.views import markdown
from fullrecall.views.sheet import Cell, Line, Section, Sheet
from fullrecall.views.text import NOTHING, between, chance, first_of, one_line, shown

if TYPE_CHECKING:
    from fullrecall.measures import Measure
    from fullrecall.results.comparison import ScoreComparison
    from fullrecall.results.missed import Leaked
    from fullrecall.results.slices import Slices
    from fullrecall.results.smallest_k import SmallestK
    from fullrecall.results.summary import Estimate, ScoreSummary, Summary
    from fullrecall.views.page.charts import Figure

_Score = TypeVar("_Score", "ScoreSummary", "ScoreComparison")


def summary_sheet(summary: Summary) -> Sheet:
    """Return a summary with its scores side by side: means, intervals, what these stand on."""
    scores = list(summary)
    means = []
    for label, measures in measure_lines(scores):
        estimates = [None if m is None else s[m] for s, m in zip(scores, measures, strict=True)]
        means.append(Line(label, list(map(mean_cell, estimates)), f"{CONFIDENCE:.0%}"))
    sections = [Section("mean", means), coverage(scores)]
    heads = [score.name for score in scores]
    return Sheet(heads, sections, [*notes(summary)], counted(summary.samples, "sample"))


def measure_lines(scores: Sequence[_Score]) -> list[tuple[str, list[Measure | None]]]:
    """Return the lines of a table: each with its label and the measure of each score there."""
    lines: dict[str, list[Measure | None]] = {}
    # Where one score's headline was asked of another score too, its name tells what stands there.
    named = {each for score in scores for each in score if each.whole != score.method.headline}
    for column, score in enumerate(scores):
        for measure in score:
            if measure in named or measure.whole != score.method.headline:
                label = measure.name
            else:
                label = "all retrieved" if measure.k is None else f"@{measure.k}"
            lines.setdefault(label, [None] * len(scores))[column] = measure
    return list(lines.items())


def mean_cell(estimate: Estimate | Figure | None) -> Cell:
    """Return a mean with its interval below it."""
    if estimate is None:
        return Cell(NOTHING)
    interval = estimate.interval
    return Cell(shown(estimate.mean), small="" if interval is None else between(interval))


def coverage(scores: Sequence[ScoreSummary]) -> Section:
    """Return how many samples each mean stands on."""
    rows = {"scored": [score.scored for score in scores]}
    if any(score.main.groups < score.main.samples for score in scores):
        rows["in groups"] = [score.main.groups for score in scores]
    rows["undefined"] = [score.undefined for score in scores]
    rows["unscored"] = [score.unscored for score in scores]
    return Section(
        "samples", [Line(name, [f"{n:,}" for n in counts]) for name, counts in rows.items()]
    )


def notes(summary: Summary) -> Iterator[str]:
    """Yield one sentence for each reason why a mean says less than it seems to."""
    sample_count = counted(summary.samples, "sample")
    yield from (_leaks(summary, measure) for measure in summary.leaked)
    yield from _returned(summary)
    if summary.stopped is not None:
        yield partial(sample_count, summary.stopped)
    if summary.united:
        in_calls = f"united calls in {summary.united:,} of {sample_count}"
        yield f"{in_calls}: a context's rank is that in its own call"
    if summary.failed_calls:
        yield f"failed calls in {summary.failed_calls:,} of {sample_count}"
    if summary.funnel is not None:
        references = counted(summary.funnel.references, "reference")
        samples = counted(summary.funnel.samples, "sample")
        yield f"recall of {references} by ID, in {samples}: {summary.funnel.line}"
    for score in summary:
        yield from _score_notes(score)
    if any(reason.startswith(STALE) for score in summary for reason in score.reasons):
        yield (
            "the corpus is not the one that was labeled: `fullrecall testset follow SET --corpus "
            "NEW` carries the labels over"
        )
    if any(score.interval is not None for score in summary):
        yield (
            f"{CONFIDENCE:.0%} intervals of the mean over all such questions, whatever the "
            "distribution of the scores"
        )


def _returned(summary: Summary) -> Iterator[str]:
    """Yield what was returned in mean, and where nothing should have been."""
    if summary.cost is not None:
        yield f"a question costs {summary.cost}"
    if summary.unanswerable:
        yield (
            f"{summary.empty:,} of {counted(summary.unanswerable, 'question')} that nothing "
            f"answers returned nothing ({summary.empty / summary.unanswerable:.0%})"
        )
    if len(summary.tokenizers) > 1:
        yield (
            f"tokens were counted in {len(summary.tokenizers)} ways, which do not compare: "
            f"{one_line(', '.join(summary.tokenizers), 200)}; Report.with_tokens counts all alike"
        )


def _leaks(summary: Summary, measure: Measure) -> str:
    """Return how many questions leak, at most how many of all such would, and what leaked."""
    leak, contexts = summary[0][measure], summary.leaked[measure]
    questions = counted(leak.samples, "question")
    if not leak.samples:
        return f"{measure.name}: no question forbids anything"
    # 0 of 20 does not show that none leaks: up to 14.0% of all such questions may.
    most = upper_bound(leak.totals.counts().high, 1 - CONFIDENCE)
    # Rounded up: a bound must not be stated below what it is.
    rate = f"at most {-(-most * 1000 // 1) / 10:.1f}% of such questions ({CONFIDENCE:.0%})"
    if not contexts:
        return f"{measure.name}: 0 of {questions} leak: {rate}"
    leaking = len({each.sample for each in contexts})
    return f"{measure.name}: {leaking:,} of {questions} leak, {rate}: {named_leaks(contexts)}"


def named_leaks(contexts: Sequence[Leaked]) -> str:
    """Return the first of what leaked, each with its rank and step, and how many more there are."""
    return first_of([str(each) for each in contexts], 3, 120)


def _score_notes(score: ScoreSummary) -> Iterator[str]:
    name = score.name
    if score.undefined:
        yield f"{score.undefined:,} undefined in {name}: no reference items"
    if score.rewrite is not None:
        yield f"{name}: {one_line(score.rewrite.sentence, 400)}"
    for reason, count in score.reasons.items():
        yield f"{count:,} unscored in {name}: {one_line(reason, 300)}"
    if score.unscored and score.scored and score.bounds is not None:
        low, high = map(shown, score.bounds)
        label = score.method.label(score.main.measure)
        yield f"{label}: {low} to {high}, depending on unscored samples"
    for estimate in score.values():
        if estimate.undefined > score.undefined:
            unit = estimate.measure.unit
            why = "no target counts" if unit is None else f"the {unit} are not known"
            yield (
                f"{estimate.undefined - score.undefined:,} more undefined in "
                f"{score.method.label(estimate.measure)}: {why}"
            )
    if score.unverified:
        share = f"{score.unverified:.1%}"
        yield f"{share} of the credit in {name} rests on quotes that were not verified"
    if score.over_calls is not None:
        yield _over_calls(score)


def _over_calls(score: ScoreSummary) -> str:
    """Return the means over calls, and the call after which nothing more was found."""
    curve = score.over_calls
    assert curve is not None  # noqa: S101 - whoever calls has looked
    means = " ".join(map(shown, curve.means))
    new = " ".join(f"{count:,}" for count in curve.new_targets)
    sentence = f"{score.name} after call 1, 2, …: {means}; new targets: {new}"
    if len(curve.means) < curve.most:
        sentence += f"; after all {curve.most:,} calls {shown(curve.total)}"
    if curve.last_gain is not None and curve.last_gain < curve.most:
        tokens = "" if curve.tokens is None else f", {curve.tokens:.0%} of the tokens"
        measure_name = curve.measure.text.replace("_", " ")
        sentence += f"; stop after call {curve.last_gain}: the same {measure_name}{tokens}"
    return sentence


def partial(samples: str, stopped: str) -> str:
    """Return the sentence that says that a report has not all of its samples."""
    return f"{samples}, not all: {one_line(stopped, 300)}"


def slices_sheet(slices: Slices) -> Sheet:
    """Return slices one below the other: mean, interval, and what they stand on."""
    lines = []
    for subset in slices:
        counts = [f"{subset.samples:,}", f"{subset.unscored:,}"]
        cells = [shown(subset.mean), between(subset.interval), *counts]
        lines.append(Line(one_line(subset.value, 60), cells))
    notes = [f"{slices.confidence:.0%} intervals that hold for all {len(slices):,} slices together"]
    if slices.without:
        notes.append(f"{slices.without:,} samples without {one_line(slices.by, 60)}")
    heads = [slices.label, "interval", "samples", "unscored"]
    return Sheet(heads, [Section(one_line(slices.by, 60), lines)], notes)


def smallest_k_sheet(smallest: SmallestK) -> Sheet:
    """Return the smallest k with its reason, and each k that was tested, ascending."""
    lines, best = [], "none"
    for each in smallest.tested:
        label = f"{each.k.amount if isinstance(each.k, Budget) else each.k:,.15g}"
        best = label if each.k == smallest.k else best
        cell = Cell(label, "strong" if each.k == smallest.k else "")
        lines.append(Line(cell, [shown(each.mean), chance(each.p)]))
    heads = ["mean", f"p of below {smallest.target:g}"]
    corner = smallest.largest.unit if isinstance(smallest.largest, Budget) else "k"
    return Sheet(heads, [Section("", lines)], [smallest.reason], f"{corner} = {best}", corner)


def summary_markdown(summary: Summary) -> str:
    """Return a summary in GitHub's Markdown."""
    title = f"Context recall, {counted(summary.samples, 'sample')}"
    return markdown.text_of(title, replace(summary_sheet(summary), title=""))
