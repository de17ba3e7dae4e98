"""The public functions `evaluate` and `compare`, and `Report`, whose methods use all packages."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, cast, overload

from fullrecall._util import lazy
from fullrecall._util.dataframes import Backend, frame_of
from fullrecall._util.garbage import uncollected
from fullrecall._util.parameters import public
from fullrecall.errors import ParameterError
from fullrecall.judge.usage import MOST
from fullrecall.measures import Measure, as_measures
from fullrecall.run.evaluate import EvaluateOptions, aevaluated, evaluated
from fullrecall.run.limits import Limits
from fullrecall.samples.sample import SampleLike
from fullrecall.show.output import written
from fullrecall.stats.bounds import CONFIDENCE
from fullrecall.stats.evaluation import Evaluation
from fullrecall.stats.summary import summary_markdown

if TYPE_CHECKING:  # the list of all exports: `lazy` reads it too
    from pathlib import Path

    from fullrecall.calibration import HumanLabels, ToLabel
    from fullrecall.diagnosis import Diagnosis
    from fullrecall.judge.models.retries import Retries
    from fullrecall.run.address import StoreLike
    from fullrecall.run.budget import Budget
    from fullrecall.run.evaluate import CorpusLike, Sink
    from fullrecall.run.retrievers import RetrieverLike
    from fullrecall.samples.id_keys import IdKey
    from fullrecall.samples.retrieval import View
    from fullrecall.scorers.scorer import Scorer
    from fullrecall.stats.bounds import Interval as Interval
    from fullrecall.stats.change import Difference as Difference
    from fullrecall.stats.change import Direction as Direction
    from fullrecall.stats.change import Flip as Flip
    from fullrecall.stats.change import ScoreComparison as ScoreComparison
    from fullrecall.stats.choice import Choice as Choice
    from fullrecall.stats.choice import Standing as Standing
    from fullrecall.stats.comparison import Comparison as Comparison
    from fullrecall.stats.comparison import Comparisons as Comparisons
    from fullrecall.stats.estimates import Estimate as Estimate
    from fullrecall.stats.estimates import ScoreSummary as ScoreSummary
    from fullrecall.stats.gate import Check as Check
    from fullrecall.stats.gate import GateResult as GateResult
    from fullrecall.stats.gate import Outcome as Outcome
    from fullrecall.stats.missed import Missed as Missed
    from fullrecall.stats.missed import MissedTargets as MissedTargets
    from fullrecall.stats.question_cost import QuestionCost as QuestionCost
    from fullrecall.stats.question_cost import Seconds as Seconds
    from fullrecall.stats.slices import Slice as Slice
    from fullrecall.stats.slices import Slices as Slices
    from fullrecall.stats.smallest_k import SmallestK as SmallestK
    from fullrecall.stats.smallest_k import Tested as Tested
    from fullrecall.stats.summary import Summary as Summary
    from fullrecall.table.row import Row as Row
else:
    __getattr__ = lazy.names(__name__, "Report", "aevaluate", "compare", "evaluate")


@public
class Report(Evaluation):
    """The scored samples of `evaluate`, one `Row` each; iterate over it, or over its `rows`."""

    def to_label(
        self,
        n: int,
        path: str | Path | None = None,
        *,
        seed: int = 0,
        score: str | None = None,
        show_verdicts: bool = False,
        labels: HumanLabels = (),
    ) -> tuple[ToLabel, ...]:
        """Return `n` claims for people to label, drawn at random, and write them to `path`.

        Draws all claims if there are fewer than `n`, and at least two of each verdict. `path` ends
        in .csv, for a spreadsheet; the file must not exist yet, since it could contain labels.
        People fill the column `label` with "supported", "not_supported" or "partial", going by the
        contexts; `fullrecall.read.read_labels` and `calibrate` read the file.

        Claims are drawn by verdict, and the file has the probability with which each claim was
        drawn. `score` may be left out if only one score is a judge's. The judge's verdicts are
        hidden, so that they do not sway people, unless `show_verdicts` is True. Existing `labels`
        are filled in: the same `seed` with a larger `n` draws nearly all of the same claims again,
        and more. Raises `ParameterError` for a bad `n` or path, `InputError` for labels of other
        claims, `ReportError` for a report without a judge's recall.
        """
        from fullrecall.calibration import to_label

        return to_label(
            self,
            n,
            path,
            seed=seed,
            score=score,
            show_verdicts=show_verdicts,
            labels=labels,
        )

    def to_frame(self, *measures: Measure, backend: Backend = "pandas") -> Any:
        """Return a data frame: one row per sample and one column per measure of each score.

        `backend` is the frame's library: "pandas", "polars", or "pyarrow". Columns are named
        `id_recall`, `id_recall@5`, `id_recall.ndcg@10`; by default the measures of `summary`. Each
        score has columns for its status and reason, too. Every missing value has a status that says
        why. Raises `ParameterError` for another backend, and `MissingExtraError` if the library is
        not installed.
        """
        from fullrecall.stats.exports import scores_of

        return frame_of(*scores_of(self.table, measures), backend, "Report.to_frame()")

    def to_csv(
        self,
        path: str | Path | None = None,
        *,
        measures: Sequence[Measure] = (),
        delimiter: str = ",",
    ) -> str:
        """Return the columns of `to_frame` as CSV, and write it to `path` if given.

        It needs no library. A text that a spreadsheet would run as a formula gets an apostrophe
        in front. The file begins with a byte order mark, for Excel; if a comma is the decimal sign,
        Excel expects `delimiter=";"`. Raises `ParameterError` for another delimiter than a comma, a
        semicolon, or a tab.
        """
        from fullrecall.show import spreadsheet
        from fullrecall.stats.exports import scores_of

        columns, rows = scores_of(self.table, measures)
        text = spreadsheet.table([[*columns], *rows], delimiter)
        return written(text, path, spreadsheet.BOM)

    def to_markdown(
        self, path: str | Path | None = None, *, measures: Sequence[Measure] = ()
    ) -> str:
        """Return the summary as tables in GitHub's Markdown, and write it to `path` if given."""
        return written(summary_markdown(self.summary(*as_measures(measures))), path)

    @uncollected()
    def to_html(
        self,
        path: str | Path | None = None,
        *,
        measures: Sequence[Measure] = (),
        diagnosis: Diagnosis | Literal[False] | None = None,
        title: str | None = None,
    ) -> str:
        """Return the report as one HTML page, and write it to `path` if one is given.

        The page is complete: it needs no server and loads no other file. It begins with the
        problems, their causes, and the changes to make. Then it has the summary, the curves over k,
        and every sample with its contexts, targets and evidence, to be sorted, filtered and
        searched. The reader chooses one of the `measures` for the whole page; by default the
        measures of `summary`. `diagnosis` says why each target was missed; None makes it from the
        report alone, at the k of the measure that the page opens with; False leaves it out. An
        existing file is replaced when the page is complete. Raises `ReportError` for a report of
        more than 10,000 samples, and for the diagnosis of another report.
        """
        from fullrecall.page import report_page

        page = report_page(self, measures=as_measures(measures), diagnosis=diagnosis, title=title)
        return written(page, path)

    def save(
        self,
        path: str | Path,
        *,
        replace: bool = False,
        default: Callable[[Any], Any] | None = None,
    ) -> None:
        """Write the report to a file, or to a directory of Parquet files.

        A path that ends in ".jsonl" is JSON lines, for people and diffs: the methods, one line per
        sample, and an end. One that ends in ".parquet" is a directory of Parquet files of 24,576
        samples each, and a manifest. `load` returns a report equal to this one from either. `path`
        may be an address, such as "s3://bucket/report.parquet".

        - `replace`: replace an existing report, once the new one is complete.
        - `default`: a function, such as `str`, that converts metadata that JSON would change or
          cannot hold.

        Raises `ReportError` for another suffix, for an existing path without `replace`, for a
        folder that does not exist, for a directory with other files, and for metadata that JSON
        would change or cannot hold. Raises `MissingExtraError` without pyarrow.
        """
        from fullrecall.files.reports import saved

        saved.save(self, path, replace=replace, default=default)

    @classmethod
    def load(cls, path: str | Path) -> Report:
        """Read a saved report into memory; `ReportError` names the line and field of an error.

        The scorers' findings are computed again from each sample. Values that do not follow from
        the sample are errors, and so is a directory with a part that is missing, cut off, edited,
        or from another report. The file of an interrupted or killed run is read too: `stopped` then
        says why it ended, and a last line that is cut off is left out with a warning.
        """
        from fullrecall.files.reports import saved

        return saved.load(path, cls)

    @classmethod
    def open(cls, path: str | Path | Iterable[str | Path], *, rows: int | None = None) -> Report:
        """Open a saved report; Parquet files are read on demand, piece by piece.

        It has the methods of any report. `path` may be an address, or several paths. Folders such
        as `tenant=north` add a column to the samples in them. A JSON Lines file is read into
        memory, as by `load`, with the same errors.
        """
        from fullrecall.files.reports import saved

        return saved.open_report(path, cls, rows=rows)


@public
def evaluate(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    retriever: RetrieverLike | None = None,
    max_concurrency: int = 16,
    timeout: float | None = 60.0,
    deadline: float | None = None,
    retries: Retries | int = MOST,
    store: StoreLike | None = None,
    budget: Budget | None = None,
    progress: bool = True,
    sink: Sink | None = None,
    output: str | Path | None = None,
    replace: bool = False,
    corpus: CorpusLike | None = None,
    view: View = "contexts",
    id_key: IdKey | None = None,
    collapse: bool = False,
) -> Report:
    """Score every sample with every scorer and return the report, in the samples' order.

    `samples` may be any iterable of `Sample`s or of mappings with the fields of one, or a data
    frame of any library that narwhals reads, and is read once. If scorers ask models, many samples
    are in flight at a time; the report is the same for any `max_concurrency`. It also works in a
    running event loop, as in a notebook or a server, but blocks it; `aevaluate` does not.

    - `retriever`: asked for each sample's `user_input`, up to `max_concurrency` at a time, each
      within `timeout`; its results are scored. It is a function of the question (sync or async), a
      `Retriever`, such as an adapter's `observed(…)` returns, or a retriever of LangChain or
      LlamaIndex. It returns IDs, texts, (id, text) or (id, score), mappings, `Context`s, rows of a
      database, or the results of another library's search. A function that requires a `k` gets 100.
      If the retriever raises, the sample is unscored with that reason. Default: the samples already
      have their retrieved contexts.
    - `max_concurrency`: the most open requests at a time, 16 by default; a model gets fewer while
      its endpoint answers that its rate limit is exceeded.
    - `timeout`: seconds for one request, 60 by default, None for no bound. `deadline`: seconds for
      the whole run; samples that were not measured by then are unscored. If reading the samples
      takes too long, the rest is not read, and `report.stopped` says so. Default: None.
    - `retries`: how often temporarily failing requests are sent again, or a `Retries`. Default: 4.
    - `store`: a file, a `Ledger`, or the URL of a Redis server (`redis://host:6379/0`) that keeps
      the models' answers, so that a later run continues where this one ended, and parallel runs do
      not repeat its requests. None keeps them in memory, for this run. A store is opened, and its
      file created, even if no scorer asks a model.
    - `budget`: the most that the run may spend; beyond it, samples are unscored.
    - `progress`: show a bar on standard error, or a line every 30 seconds if that is not a
      terminal.
    - `output`: the file to which rows are written while they are scored; the returned report reads
      this file. A killed or stopped run leaves its rows, except for the last 20 seconds; the same
      call continues at the first row that the run left unscored. Unless `replace` is True, a file
      of another run (other samples, scorers, corpus or view) is refused, and so is a complete file
      if there is a `retriever`, which may have changed. A name that ends in ".parquet" becomes a
      directory of Parquet files, for more samples than memory holds; a name that ends in ".jsonl"
      is one file, which is read into memory at the end.
    - `sink`: called with each newly scored sample's `Row`, in order, as soon as the rows before it
      are scored.
    - `corpus`: the documents that the retriever searches: any value that
      `fullrecall.read.documents_of` takes (a folder, a file, documents, contexts), or a
      `CorpusIndex` of it. It is read once, before anything is scored. If a sample's label is stale
      in the corpus, each score that depends on the label is unscored with that reason, never 0.0.
      The report keeps the corpus' fingerprint. Spans are checked if the corpus has their whole
      documents; its texts stay in memory during the run, unless `samples` is a list of `Sample`s.
    - `view`: which list of each sample's record is scored (`Retrieval.view`): "contexts", the final
      list, is the default; "retrieved" has all retrieved contexts, "read" those that the model's
      prompt had whole. The report's samples have that list. A sample whose record does not have it,
      or that has no record, is unscored with the reason.
    - `id_key`: the place of each retrieved context's ID: a dotted path, such as "metadata.source";
      several, joined by ":" (`("source", "page")` gives "a.md:12"); a template, such as
      "{source}#{page}"; or a function of the item of the retriever's list, or of the sample's row.
      Default: the usual names.
    - `collapse`: read retrieved contexts with the same ID, such as the chunks of one document, as
      one context, at the rank of the first: k then counts documents.

    A sample that cannot be measured, or for which a scorer raises, is in the report as "unscored"
    with the reason. `report.spent` has the run's requests and costs. Raises `ParameterError` for an
    argument out of its range and for two scorers of one name. Raises, before anything is scored:
    `StoreError` for a store that cannot be opened, `ReportError` for an `output` of another run or
    with another suffix, and `InputError` for a `corpus` that cannot be read. Raises, with the
    samples scored until then as its `report`: `InputError` for an item that is not a sample,
    `RunStopped` if a model answers no request, `Interrupted` at Ctrl-C, and any error of reading
    `samples` or of `sink`.
    """
    options = EvaluateOptions(
        Limits(max_concurrency, timeout, deadline, retries, store, budget),
        retriever=retriever,
        progress=progress,
        sink=sink,
        output=output,
        replace=replace,
        corpus=corpus,
        view=view,
        id_key=id_key,
        collapse=collapse,
    )
    return evaluated(samples, scorers, options, Report)


@public
async def aevaluate(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    retriever: RetrieverLike | None = None,
    max_concurrency: int = 16,
    timeout: float | None = 60.0,  # noqa: ASYNC109 - of each request, not of the call
    deadline: float | None = None,
    retries: Retries | int = MOST,
    store: StoreLike | None = None,
    budget: Budget | None = None,
    progress: bool = True,
    sink: Sink | None = None,
    output: str | Path | None = None,
    replace: bool = False,
    corpus: CorpusLike | None = None,
    view: View = "contexts",
    id_key: IdKey | None = None,
    collapse: bool = False,
) -> Report:
    """Return the same report as `evaluate`, without blocking the running event loop.

    Models are asked in this loop; samples are read and scored in a separate thread. Connections
    that models keep for this loop stay open: `await model.aclose()` closes those of an
    `OpenAIChatModel`. A cancelled task ends the run; a `store` keeps its answers.
    """
    options = EvaluateOptions(
        Limits(max_concurrency, timeout, deadline, retries, store, budget),
        retriever=retriever,
        progress=progress,
        sink=sink,
        output=output,
        replace=replace,
        corpus=corpus,
        view=view,
        id_key=id_key,
        collapse=collapse,
    )
    return await aevaluated(samples, scorers, options, Report)


@overload
def compare(
    before: Report,
    after: Report,
    /,
    *measures: Measure,
    confidence: float = ...,
    slices: str | None = ...,
) -> Comparison: ...
@overload
def compare(
    reports: Mapping[str, Report],
    /,
    *measures: Measure,
    baseline: str | None = ...,
    confidence: float = CONFIDENCE,
) -> Comparisons: ...
@public
def compare(
    before: Report | Mapping[str, Report],
    after: Report | Measure | None = None,
    /,
    *measures: Measure,
    baseline: str | None = None,
    confidence: float = CONFIDENCE,
    slices: str | None = None,
) -> Comparison | Comparisons:
    """Compare two reports of the same samples, sample by sample and target by target.

    Samples are paired by their IDs; without IDs by question, or by position if a question is asked
    twice. A target counts only if both reports have it.

    The comparison has these values for each of the `measures` of each score. Default: the headline
    measure, over all contexts and at k = 1, 3, 5, 10.

    - The mean difference with its interval, and the p-value of the same test.
    - Whether the interval shows an improvement or a loss. If neither, how many samples could show
      one.
    - Wins, ties and losses, and the samples that changed.

    If the test cannot tell, `likely` is the answer of a t-test, an approximation. If no retrieved
    list changed, or each only got longer, the answer is certain without a test.

    `compare({"bm25": a, "dense": b, "hybrid": c}, Recall @ 5)` compares any number of reports with
    the first report, or with the report that `baseline` names. All of these comparisons share one
    error rate (Holm).

    - `confidence`: of the intervals, between 0 and 1. Default: 0.95.
    - `slices`: a field of the samples, such as "kind": the two reports are also compared over the
      samples of each of its values, `comparison.slices["value"]`.

    Raises `ReportError` if it is ambiguous which samples or scores belong together,
    `ParameterError` for a value out of range.
    """
    if isinstance(before, Mapping):
        from fullrecall.stats.comparison import Comparisons

        if slices is not None:
            raise ParameterError("is for two reports: compare two of them", "slices")

        first_measure = [] if after is None else [cast("Measure", after)]
        return Comparisons(
            before, *first_measure, *measures, baseline=baseline, confidence=confidence
        )
    if baseline is not None:
        raise ParameterError("baseline names one of several reports: pass {name: report, …}")
    from fullrecall.measures.measure import Measure
    from fullrecall.stats.comparison import Comparison

    if isinstance(before, Report) and (after is None or isinstance(after, Measure)):
        raise ParameterError("compare takes two reports, or several by name: {name: report}")

    return Comparison(
        before,
        after,
        *measures,
        confidence=confidence,
        slices=slices,
    )
