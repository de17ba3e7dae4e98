"""Summaries: the means over samples, with their intervals and coverage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

from fullrecall._util.counts import counted
from fullrecall.measures import CutBudget, Measure
from fullrecall.samples.context import Context
from fullrecall.samples.fields import STALE
from fullrecall.samples.sample import Sample
from fullrecall.show.sheet import Cell, Line, Section, Sheet
from fullrecall.show.shown import Shown
from fullrecall.show.text import between, first_of, one_line, shown
from fullrecall.stats.bounds import CONFIDENCE, Interval
from fullrecall.stats.estimates import ScoreSummary, default_measures, score_summary
from fullrecall.stats.missed import Leaked, leaked
from fullrecall.stats.named import ByMeasure, ByName
from fullrecall.stats.plain import plain, plain_of
from fullrecall.stats.question_cost import QuestionCost, question_cost
from fullrecall.table.funnel import funnel_of
from fullrecall.table.table import Table

if TYPE_CHECKING:
    from fullrecall.stats.over_calls import OverCalls


class Summary(Shown, ByName[ScoreSummary]):
    """One `ScoreSummary` for each scorer, in order, also by name: `summary["id_recall"].mean`.

    Prints as a table.
    """

    def __init__(
        self, table: Table, measures: Sequence[Measure] = (), stopped: str | None = None
    ) -> None:
        retrievals = table.retrievals
        self._table, self._measures = table, measures
        self.samples = len(table)
        self.stopped = stopped
        """The reason why samples are missing; see `Report.stopped`."""
        self.united = retrievals["united"]
        """The number of samples whose contexts are the union of several calls."""
        self.failed_calls = retrievals["failed"]
        """The number of samples with a failed call that no later call replaced."""
        self.funnel = funnel_of(retrievals)
        """How many references each list of the records has; None if no list dropped one."""
        self.named = {
            method.name: score_summary(
                table, score, measures or default_measures(method), united=self.united > 0
            )
            for score, method in enumerate(table.methods)
        }
        # List leaked contexts only for a requested `Leak`, since every sample must be read.
        self.leaked = {
            measure: list(leaked(table, measure.top)) for measure in measures if _is_leak(measure)
        }
        """The leaked contexts within the k of each requested `Leak`."""
        self.unanswerable, self.empty = table.unanswerable()
        """The number of unanswerable questions, and of those with an empty list."""
        self.deepest = max((each.top or 0 for score in self for each in score), default=0)
        """The largest k of a measure, or 0 if there is none."""
        self.tied = table.tied(self.deepest) if self.deepest else 0
        """The number of samples with contexts of equal score on both sides of that rank."""
        counts_tokens = any(measure.unit == "tokens" for measure in measures)
        self.tokenizers = tuple(table.tokenizers) if counts_tokens else ()
        """The tokenizers by which tokens were counted, if a measure has a budget of tokens."""

    @cached_property
    def cost(self) -> QuestionCost | None:
        """The cost of a question within the largest k; None without a retrieval."""
        return question_cost(self._table, self._measures)

    @cached_property
    def suspicions(self) -> tuple[str, ...]:
        """Sentences on signs of misread data, such as references read as retrieved contexts."""
        return tuple(suspicions(map(self._table.sample, range(len(self._table)))))

    def to_dict(self) -> dict[str, Any]:
        """Return plain JSON values."""
        names = ("samples", "stopped", "united", "failed_calls", "cost", "funnel", "unanswerable")
        signs = ("tied", "suspicions", "empty", "tokenizers")
        return {
            **plain_of(self, *names, *signs),
            "complete": self.stopped is None,
            "confidence": CONFIDENCE,
            "scores": plain(tuple(self)),
        }

    @property
    def sheets(self) -> Sequence[Sheet]:
        """A table with the scores side by side, with their means and numbers of samples."""
        return [summary_sheet(self)]


def _is_leak(measure: Measure) -> bool:
    """Return whether a measure is `Leak` within a number of contexts, or within all contexts."""
    from fullrecall.measures import Leak

    return measure.whole == Leak and not isinstance(measure.k, CutBudget)


def summary_sheet(summary: Summary) -> Sheet:
    """Return a sheet with the scores side by side: means, their intervals, numbers of samples."""
    scores = list(summary)
    means = []
    for label, measures in measure_lines(scores):
        cells = [
            mean_cell()
            if measure is None
            else mean_cell(score[measure].mean, score[measure].interval)
            for score, measure in zip(scores, measures, strict=True)
        ]
        means.append(Line(label, cells, f"{CONFIDENCE:.0%}"))
    sections = [Section("mean", means), _coverage(scores)]
    heads = [score.name for score in scores]
    return Sheet(heads, sections, [*notes(summary)], counted(summary.samples, "sample"))


def measure_lines(scores: Sequence[ByMeasure[Any]]) -> list[tuple[str, list[Measure | None]]]:
    """Return the lines of a table: each has a label, and a measure for each score or None."""
    lines: dict[str, list[Measure | None]] = {}
    # A line is named by k alone if its measure is the headline of every score that has it.
    named = {each for score in scores for each in score if each.whole != score.method.headline}
    for column, score in enumerate(scores):
        for measure in score:
            if measure in named or measure.whole != score.method.headline:
                label = measure.name
            else:
                label = "all retrieved" if measure.k is None else f"@{measure.k}"
            lines.setdefault(label, [None] * len(scores))[column] = measure
    return list(lines.items())


def mean_cell(mean: float | None = None, interval: Interval | None = None) -> Cell:
    """Return a cell with a mean, or a dash for None, and its interval below it, if any."""
    return Cell(shown(mean), small="" if interval is None else between(interval))


def _coverage(scores: Sequence[ScoreSummary]) -> Section:
    """Return a section with the numbers of samples of each score."""
    rows = {"scored": [score.scored for score in scores]}
    if any(score.main.groups < score.main.samples for score in scores):
        rows["in groups"] = [score.main.groups for score in scores]
    rows["undefined"] = [score.undefined for score in scores]
    rows["unscored"] = [score.unscored for score in scores]
    if any(score.unjudged for score in scores):
        rows["unjudged"] = [score.unjudged for score in scores]
    return Section(
        "samples", [Line(name, [f"{n:,}" for n in counts]) for name, counts in rows.items()]
    )


def _score_notes(score: ScoreSummary) -> Iterator[str]:
    """Yield the reasons why a score's mean is weaker evidence than it seems."""
    name = score.name
    if not any((score.scored, score.undefined, score.unscored, score.unjudged)):
        yield f"{name}: no sample was given"
    if score.undefined:
        yield f"{score.undefined:,} undefined in {name}: no reference items"
    if score.unjudged:
        yield f"{score.unjudged:,} unjudged in {name}: no relevance judgment; left out"
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
    yield from _judging(score)
    if score.over_calls is not None:
        yield _over_calls(score.name, score.over_calls)


def _judging(score: ScoreSummary) -> Iterator[str]:
    """Yield sentences on unverified quotes, and on the targets that a second judge decided."""
    if score.unverified:
        share = f"{score.unverified:.1%}"
        yield f"{share} of the credit in {score.name} rests on quotes that were not verified"
    if score.referred is not None:
        targets, of, calls, tokens = score.referred
        cost = f"{counted(calls, 'call')}, {counted(tokens, 'token')}"
        yield f"{targets:,} of {of:,} targets in {score.name} went to the second judge ({cost})"


def _over_calls(name: str, curve: OverCalls) -> str:
    """Describe the mean after each call, and the first call after which it no longer rises."""
    means = " ".join(map(shown, curve.means))
    new = " ".join(f"{count:,}" for count in curve.new_targets)
    sentence = f"{name} after call 1, 2, …: {means}; new targets: {new}"
    if len(curve.means) < curve.most:
        sentence += f"; after all {curve.most:,} calls {shown(curve.total)}"
    if curve.last_gain is not None and curve.last_gain < curve.most:
        tokens = "" if curve.tokens is None else f", {curve.tokens:.0%} of the tokens"
        measure_name = curve.measure.text.replace("_", " ")
        sentence += f"; stop after call {curve.last_gain}: the same {measure_name}{tokens}"
    return sentence


def partial(samples: str, stopped: str) -> str:
    """Return a sentence that says that the report is incomplete, and why."""
    return f"{samples}, not all: {one_line(stopped, 300)}"


def notes(summary: Summary) -> Iterator[str]:
    """Yield one sentence for each reason why a mean is weaker evidence than it seems."""
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
    if summary.tied:
        yield (
            f"ties straddle rank {summary.deepest:,} in {summary.tied:,} of {sample_count}: the "
            "order of equal scores decides what is within it"
        )
    yield from summary.suspicions
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
    """Yield sentences on the mean cost, empty lists of unanswerable questions, and tokenizers."""
    if summary.cost is not None:
        yield f"a question costs {summary.cost}"
    if summary.unanswerable:
        yield (
            f"{summary.empty:,} of {counted(summary.unanswerable, 'unanswerable question')} got an "
            f"empty list ({summary.empty / summary.unanswerable:.0%})"
        )
    if len(summary.tokenizers) > 1:
        yield (
            f"tokens were counted in {len(summary.tokenizers)} ways, which do not compare: "
            f"{one_line(', '.join(summary.tokenizers), 200)}; Report.with_tokens counts all alike"
        )


def _leaks(summary: Summary, measure: Measure) -> str:
    """Describe how many questions leak, an upper bound of their rate, and the leaked contexts."""
    leak, contexts = summary[0][measure], summary.leaked[measure]
    questions = counted(leak.samples, "question")
    if not leak.samples:
        return f"{measure.name}: no question forbids anything"
    # State an upper bound of the rate: if 0 of 20 questions leak, it may still be up to 14.0%.
    most = leak.totals.counts().upper(1 - CONFIDENCE)
    # Round up, so that the upper bound is not understated.
    rate = f"at most {-(-most * 1000 // 1) / 10:.1f}% of such questions ({CONFIDENCE:.0%})"
    if not contexts:
        return f"{measure.name}: 0 of {questions} leak: {rate}"
    leaking = len({each.sample for each in contexts})
    return f"{measure.name}: {leaking:,} of {questions} leak, {rate}: {named_leaks(contexts)}"


def named_leaks(contexts: Sequence[Leaked]) -> str:
    """Return the first leaked contexts, each with its rank and step, and the number of the rest."""
    return first_of([str(each) for each in contexts], 3, 120)


def summary_markdown(summary: Summary) -> str:
    """Return a summary in GitHub's Markdown."""
    from fullrecall.show import markdown

    title = f"Context recall, {counted(summary.samples, 'sample')}"
    return markdown.text_of(title, summary_sheet(summary)._replace(title=""))


_LOOKED_AT: Final = 1000
_FEWEST: Final = 5
"""The fewest samples for which equal lists are a sign."""

_OF_TEST_SETS = frozenset({"evolution_type", "synthesizer_name", "query_style", "persona_name"})
"""Columns that test set generators write beside their reference contexts."""


def suspicions(samples: Iterable[Sample]) -> Iterator[str]:
    """Yield a sentence for each sign that references were misread, in the first 1,000 samples."""
    compared = copied = generated = 0
    column = label = ""
    for sample in islice(samples, _LOOKED_AT):
        if not sample.has_retrieval:
            continue
        if references := _references(sample):
            compared += 1
            copied += _retrieved(sample) == references
        if marks := _marks(sample):
            generated += 1
            column = column or min(marks)
        label = label or _named(sample)
    if compared >= _FEWEST and copied == compared:
        yield (
            f"every retrieved list equals its references, in all {compared:,} samples: is the "
            "golden set read as the retrieval?"
        )
    if generated:
        yield (
            f"the retrieved contexts of {counted(generated, 'sample')} come from a generated "
            f"test set ({column}): its contexts are references, so read them as reference_contexts"
        )
    if label:
        yield (
            f"the reference context {label} of a retrieved context, not its text: read the "
            "references as reference IDs"
        )


def _marks(sample: Sample) -> frozenset[str]:
    """Return the metadata keys which show that contexts of a test set were read as retrieved.

    Returns an empty set if the sample has a recorded retrieval, or reference contexts.
    """
    is_read_so = (
        sample.retrieval is None and sample.retrieved_contexts and not sample.reference_contexts
    )
    return _OF_TEST_SETS & sample.metadata.keys() if is_read_so else frozenset()


def _named(sample: Sample) -> str:
    """Return "TEXT is the FIELD" if a reference text is the ID or metadata of a retrieved context.

    Returns "" if there is no such text.
    """
    texts = {one.text for group in sample.reference_contexts or () for one in group}
    for context in sample.retrieved_contexts or ():
        for key, value in _labels(context):
            if isinstance(value, str) and value in texts and value != context.text:
                return f"{one_line(repr(value), 60)} is the {key}"
    return ""


def _labels(context: Context) -> Iterator[tuple[str, object]]:
    yield from (("id", context.id), ("source", context.source), *context.metadata.items())


def _retrieved(sample: Sample) -> set[str | None]:
    """Return the retrieved IDs if the references are IDs, else the retrieved texts."""
    if sample.reference_context_ids:
        return set(sample.retrieved_context_ids or ())
    return {context.text for context in sample.retrieved_contexts or ()}


def _references(sample: Sample) -> set[str | None]:
    if sample.reference_context_ids:
        return {name for group in sample.reference_context_ids for name in group.any_of}
    return {one.text for group in sample.reference_contexts or () for one in group}
