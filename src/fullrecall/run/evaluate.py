"""The evaluation of samples by scorers: the algorithm behind `fullrecall.evaluate`."""

from __future__ import annotations

from collections.abc import (
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, aclosing, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from operator import length_hint
from typing import TYPE_CHECKING, Any, Generic, TypeAlias, cast, get_args

from fullrecall._util import naming
from fullrecall._util.counts import counted
from fullrecall._util.dataframes import is_frame
from fullrecall._util.ending import ending
from fullrecall._util.garbage import uncollected
from fullrecall._util.parameters import check_choice
from fullrecall._util.pieces import chunked
from fullrecall._util.values import shown
from fullrecall.errors import FullrecallError, InputError, Interrupted, ParameterError, ReportError
from fullrecall.measures import Measure
from fullrecall.run.interruption import interruptible
from fullrecall.run.limits import Limits
from fullrecall.samples.retrieval import View
from fullrecall.samples.sample import Sample, SampleLike
from fullrecall.scorers.scorer import Scorer
from fullrecall.stats.evaluation import AnyEvaluation, Evaluation
from fullrecall.table.origin import Origin
from fullrecall.table.row import Row

if TYPE_CHECKING:
    from pathlib import Path

    from fullrecall.files.documents import DocumentsLike
    from fullrecall.files.reports.row_writer import RowWriter
    from fullrecall.files.rows import FileSamples
    from fullrecall.run.chunks import ItemReader
    from fullrecall.run.progress import Meter
    from fullrecall.run.retrievers import RetrieverLike
    from fullrecall.run.work import Run
    from fullrecall.samples.corpus import CorpusIndex
    from fullrecall.samples.id_keys import IdKey
    from fullrecall.table.part import MemoryPart, Part
    from fullrecall.table.table import Table

Sink: TypeAlias = Callable[[Row], object]
CorpusLike: TypeAlias = "DocumentsLike | CorpusIndex"
"""The types of `evaluate`'s `corpus`, with which labels are compared."""


@dataclass(eq=False, repr=False)
class EvaluateOptions:
    """The options of `evaluate`, with their defaults; `limits` has those that limit requests."""

    limits: Limits = field(default_factory=Limits)
    retriever: RetrieverLike | None = None
    progress: bool = True
    sink: Sink | None = None
    output: str | Path | None = None
    replace: bool = False
    corpus: CorpusLike | None = None
    view: View = "contexts"
    id_key: IdKey | None = None
    collapse: bool = False

    def __post_init__(self) -> None:
        check_choice(self.view, "view", get_args(View))
        if self.id_key is not None:
            from fullrecall.samples.id_keys import check_id_key

            check_id_key(self.id_key)
        if self.sink is not None and not callable(self.sink):
            raise ParameterError(f"must be a function or None, got {self.sink!r}", "sink")

    @property
    def reads_no_row(self) -> bool:
        """Whether samples can be scored in chunks: no option changes or handles single ones."""
        is_unseen = self.retriever is None and self.sink is None and self.limits.deadline is None
        is_changed = self.view != "contexts" or self.collapse
        return is_unseen and self.corpus is None and not is_changed


def evaluated(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    options: EvaluateOptions,
    make: type[AnyEvaluation],
) -> AnyEvaluation:
    """Return the evaluation of every sample by every scorer; see `fullrecall.evaluate`."""
    from fullrecall.run.chunks import takes_chunks

    samples, run, reporting = _prepared(samples, scorers, options, make)
    with interruptible(run.reading_seconds) as run.interruption, reporting as scored:
        if run.makes_no_requests and options.reads_no_row and takes_chunks(run.scorers):
            _score_chunks(samples, run, scored)
        else:
            from fullrecall.run.drivers import rows_of

            with closing(rows_of(as_samples(samples, run.scorers), run)) as rows:
                for row in rows:
                    scored.add(row)
    return scored.report


def _prepared(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    options: EvaluateOptions,
    make: type[AnyEvaluation],
) -> tuple[Iterable[SampleLike], Run, AbstractContextManager[_Scored[AnyEvaluation]]]:
    """Return the samples to score, their run, and the context manager that makes its report."""
    from fullrecall.run.work import Run

    run = Run(check_scorers(scorers), options.limits, view=options.view, collapse=options.collapse)
    if options.retriever is not None:
        from fullrecall.run.retrievers import as_retriever

        run.retriever = as_retriever(options.retriever, id_key=options.id_key)
    elif options.id_key is not None:
        samples = _rows_as_samples(samples, options.id_key)
    run.corpus = corpus_index(options.corpus, samples)
    total = length_hint(samples)
    kept, samples = _unfinished(samples, run, options)
    return samples, run, _reporting(run, options, total, make, kept)


def corpus_index(corpus: CorpusLike | None, samples: object = None) -> CorpusIndex | None:
    """Return an index of a corpus by ID; None without a corpus.

    It keeps all texts; for a list of `Sample`s, only the texts in which the samples have spans.
    """
    if corpus is None:
        return None
    from fullrecall.samples.corpus import CorpusIndex

    if isinstance(corpus, CorpusIndex):
        return corpus
    from fullrecall.files.documents import documents_of

    all_samples = isinstance(samples, (list, tuple)) and all(
        isinstance(sample, Sample) for sample in samples
    )
    listed = cast("Sequence[Sample]", samples) if all_samples else None
    return CorpusIndex.of(documents_of(corpus), listed)


def _score_chunks(samples: Iterable[SampleLike], run: Run, scored: _Scored[AnyEvaluation]) -> None:
    """Score samples in chunks; each sample that was read gets a row, even after an error."""
    from fullrecall.run.chunks import ItemReader

    read = ItemReader(run.scorers)
    chunks = _chunks(samples, run)
    while not run.interruption.is_asked:
        with uncollected():  # Garbage is collected only between two chunks.
            chunk = next(chunks, None)
            if chunk is None:
                return
            part = _part_of(chunk, read, run, scored)
        scored.add_part(part)
    raise KeyboardInterrupt


def _part_of(chunk: Any, read: ItemReader, run: Run, scored: _Scored[AnyEvaluation]) -> MemoryPart:
    """Score a chunk; on an error, add the scores of the samples before it."""
    from fullrecall.run.chunks import part_of

    first = scored.count + 1
    try:
        with run.interruption.at_once():  # A single row may take long, so Ctrl-C does not wait.
            return part_of(chunk, first, run.scorers, read)
    except InputError as error:
        if error.line is not None and error.line > first:  # The chunk has samples before it.
            scored.add_part(part_of(chunk[: error.line - first], first, run.scorers, read))
        raise


async def aevaluated(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    options: EvaluateOptions,
    make: type[AnyEvaluation],
) -> AnyEvaluation:
    """Return the evaluation of every sample, without blocking; see `fullrecall.aevaluate`."""
    import asyncio

    from fullrecall.run.drivers import arows_of

    # Prepare in a thread: reading a corpus or an earlier output would block the loop.
    beginning = asyncio.to_thread(_prepared, samples, scorers, options, make)
    samples, run, reporting = await beginning
    with run.interruption.late_after(run.reading_seconds), reporting as scored:
        async with aclosing(arows_of(as_samples(samples, run.scorers), run)) as rows:
            async for row in rows:
                scored.add(row)
    return scored.report


@dataclass(eq=False, repr=False)
class _Scored(Generic[AnyEvaluation]):
    """Adds scored rows to the report, or to the output file from which the report is read later."""

    report: AnyEvaluation
    options: EvaluateOptions
    meter: Meter | None
    count: int
    writer: RowWriter | None = None

    def add(self, row: Row) -> None:
        """Add one row."""
        if self.writer is None:
            self.report.add(row)
        else:
            self.writer.write(row.sample, row.results)
        self.count += 1
        if self.options.sink is not None:
            self.options.sink(row)
        if self.meter is not None:
            self.meter.add(row)

    def add_part(self, part: Part) -> None:
        """Add rows that were scored together."""
        (self.writer or self.report.table).add(part)
        self.count += len(part)
        if self.meter is not None:
            self.meter.add_part(part, len(self.report.methods))

    @contextmanager
    def writing(self, after: int | None) -> Iterator[None]:
        """Open the output file, if there is one; at the end, make the report read it.

        `after` is the number of rows that an unfinished file keeps, None for a new one.
        """
        path = self.options.output
        if path is None:
            yield
            return
        from fullrecall.files.reports import saved as files

        writer = files.writer(path, self.report.methods, self.report.origin, after=after)
        try:
            with writer as self.writer:
                yield
        finally:
            self.report.table = files.open_report(path, Evaluation).table


@contextmanager
def _reporting(
    run: Run,
    options: EvaluateOptions,
    total: int,
    make: type[AnyEvaluation],
    kept: Table | None,
) -> Iterator[_Scored[AnyEvaluation]]:
    """Yield the object that takes scored rows; attach the report to an exception that ends the run.

    Ctrl-C becomes `Interrupted`; any other exception gets the attribute `report`.
    """
    from fullrecall.run.progress import Meter
    from fullrecall.run.work import Overdue

    report = make([scorer.method for scorer in run.scorers])
    report.origin = _origin(run)
    meter = Meter(run, total=total or None)
    for part in () if kept is None else kept.parts:
        meter.add_part(part, len(report.methods))
    after = None if kept is None else len(kept)
    scored = _Scored(report, options, meter if options.progress else None, after or 0)
    try:
        with closing(meter), scored.writing(after):
            yield scored
    except Overdue as late:
        report.stopped = ending(late)
    except (Exception, KeyboardInterrupt) as error:
        # A second Ctrl-C may interrupt the cleanup, which then raises another exception.
        if run.interruption.is_repeated or isinstance(error, KeyboardInterrupt):
            report.stopped = ending(KeyboardInterrupt())
            raise Interrupted(report) from None
        report.stopped = ending(error)
        with suppress(AttributeError):  # an exception with slots takes no new attributes
            error.report = report  # type: ignore[attr-defined]
        if not isinstance(error, FullrecallError):
            error.add_note(
                f"It ended the run. error.report has the {len(report):,} samples so far."
            )
        raise
    finally:
        report.spent = replace(run.spent, seconds=run.seconds)


def _origin(run: Run) -> Origin:
    """Return the corpus and the view of a run, which affect its scores too."""
    return Origin(None if run.corpus is None else run.corpus.fingerprint, run.view)


def _unfinished(
    samples: Iterable[SampleLike], run: Run, options: EvaluateOptions
) -> tuple[Table | None, Iterable[SampleLike]]:
    """Return the rows that an earlier run of the same samples finished, and the samples left.

    Raises `ReportError` if the output has rows of other samples. If the run has a retriever, also
    raises it for a complete output, since the retriever may have changed.
    """
    if options.output is None:
        return None, samples
    from fullrecall._util.places import shown_path
    from fullrecall._util.warning import warn
    from fullrecall.files.reports import saved as files

    if options.replace:
        files.clear(options.output)
        return None, samples
    kept = files.finished(options.output, [scorer.method for scorer in run.scorers], _origin(run))
    if kept is None:
        return None, samples
    asked = as_samples(samples, run.scorers)
    for position, row in enumerate(kept, start=1):
        sample = next(asked, None)
        if sample is None or not _is_same_question(row.sample, sample, run):
            raise ReportError(
                f"{shown_path(options.output)} has other samples, the first at position "
                f"{position}: {files.way_out()}"
            )
    if run.retriever is not None and kept.stopped is None:
        # The retriever may have changed since then; the file cannot show this.
        raise ReportError(
            f"{shown_path(options.output)} is complete, and a retriever would be asked: "
            f"{files.way_out()}"
        )
    if run.retriever is not None and len(kept):
        anew = naming.parameter("replace", value=True)
        warn(
            f"{shown_path(options.output)} keeps {counted(len(kept), 'row')} of an earlier run "
            f"with their contexts; {anew} asks the retriever anew"
        )
    run.first = len(kept) + 1
    return kept.table, asked


def _is_same_question(done: Sample, asked: Sample, run: Run) -> bool:
    """Return whether `done`, from an earlier run, equals the sample that this run would score."""
    names: tuple[str, ...] = _ASKED
    if run.retriever is None and run.view == "contexts":
        asked = asked.collapsed() if run.collapse else asked
        names += ("retrieved_contexts", "retrieved_context_ids")
    return all(getattr(done, name) == getattr(asked, name) for name in names)


_ASKED = (
    "id", "group", "user_input", "answerable", "judged", "reference", "reference_contexts",
    "reference_context_ids", "reference_claims", "reference_entities", "forbidden_ids",
    "forbidden_contexts", "superseded",
)  # fmt: skip
"""The fields that must be equal in the samples of a continued run."""


def as_samples(samples: Iterable[SampleLike], scorers: Sequence[Scorer] = ()) -> Generator[Sample]:
    """Convert the items of `samples` to `Sample`s; an `InputError` names the first wrong item."""
    from fullrecall.run.chunks import ItemReader

    as_sample = ItemReader(scorers)
    for position, item in enumerate(_items(samples), start=1):
        yield as_sample(item, position)


def _chunks(samples: Iterable[SampleLike], run: Run) -> Iterator[Any]:
    """Yield samples in chunks; those of files and frames are columns if possible."""
    if type(samples) is list:
        return chunked(samples)
    from fullrecall.files.rows import FileSamples  # imported late: it loads all readers of rows

    rows = _rows_as_samples(samples) if is_frame(samples) else samples
    if isinstance(rows, FileSamples):
        return run.interruption.reading(rows.chunks())
    return chunked(run.interruption.reading(_items(rows)))


def _items(samples: Iterable[SampleLike]) -> Iterator[SampleLike]:
    if is_frame(samples):  # an Arrow table cannot be iterated over
        yield from _rows_as_samples(samples)
        return
    if isinstance(samples, (str, bytes, Mapping, Sample)) or not isinstance(samples, Iterable):
        is_single = isinstance(samples, (Mapping, Sample))
        way_out = "wrap it in a list" if is_single else "fullrecall.read.read(path) reads a file"
        if isinstance(samples, Mapping) and _are_columns(samples):
            way_out = "make its rows: [dict(zip(data, row)) for row in zip(*data.values())]"
        if isinstance(samples, AsyncIterable):
            way_out = "collect it: [sample async for sample in samples]"
        raise InputError(
            f"samples must be an iterable of Samples, got {type(samples).__name__}: {way_out}"
        )
    yield from samples


def _are_columns(fields: Mapping[str, Any]) -> bool:
    """Return whether all fields are lists of cells (columns), and one of them has questions."""
    asks = not fields.keys().isdisjoint(("user_input", *Sample.names()["user_input"]))
    return asks and all(isinstance(value, (list, tuple)) for value in fields.values())


def _rows_as_samples(rows: Any, id_key: IdKey | None = None) -> FileSamples:
    from fullrecall.files.frames import from_rows

    return from_rows(rows, id_key=id_key)


def check_scorers(scorers: Sequence[Scorer] | Scorer) -> Sequence[Scorer]:
    """Return the scorers as a tuple; raise `ParameterError` for invalid ones and equal names."""
    if isinstance(scorers, (Scorer, str, Measure)):
        scorers = (scorers,)  # The loop below refuses a text or a measure.
    checked: list[Scorer] = []
    names = {"sample", "user_input", "group"}
    # Check each scorer as it is read: an endless iterable is refused at the first repeated name.
    for scorer in scorers if isinstance(scorers, Iterable) else (scorers,):
        if isinstance(scorer, Measure):
            raise ParameterError(
                f"{scorer!r} is a measure, not a scorer: pass a scorer, such as IdRecall(), and "
                f"ask its report: report.summary({scorer!r})"
            )
        if isinstance(scorer, type) or not isinstance(scorer, Scorer):
            raise ParameterError(
                f"{shown(scorer)} is not a scorer: pass an instance such as IdRecall()"
            )
        if scorer.method.name in names:
            raise ParameterError(
                f"two columns of the report are named {scorer.method.name!r}: pass another name=…; "
                "one scorer answers for every k and every measure"
            )
        names.add(scorer.method.name)
        checked.append(scorer)
    if not checked:
        raise ParameterError("scorers is empty: pass at least one, such as IdRecall()")
    return tuple(checked)
