"""`evaluate`: samples in, a report out."""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncIterable,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, closing, contextmanager, suppress
from dataclasses import MISSING, dataclass, fields, replace
from difflib import get_close_matches
from operator import length_hint
from typing import TYPE_CHECKING, Any, TypeAlias, Unpack, cast, get_args

from fullrecall.corpus import CorpusIndex
from fullrecall.dataframes import is_frame
from fullrecall.errors import FullrecallError, InputError, Interrupted, ParameterError
from fullrecall.hits import IdKey, check_id_key
from fullrecall.measures import Measure
from fullrecall.parameters import check_choice
from fullrecall.report.report import Report
from fullrecall.report.text import ending
from fullrecall.results.origin import Origin
from fullrecall.retrieval import View
from fullrecall.run.interruption import interruptible
from fullrecall.run.limits import LimitOptions, Limits
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer
from fullrecall.table.row import Row

if TYPE_CHECKING:
    from pathlib import Path

    from fullrecall.read.documents import DocumentsLike
    from fullrecall.results.files.row_writer import Writer
    from fullrecall.run.progress import Meter
    from fullrecall.run.retrievers import RetrieverLike
    from fullrecall.run.work import Run
    from fullrecall.table.part import Part

SampleLike: TypeAlias = Sample | Mapping[str, Any]
Sink: TypeAlias = Callable[[Row], object]
CorpusLike: TypeAlias = "DocumentsLike | CorpusIndex"
"""What `evaluate` holds labels against."""


@dataclass(frozen=True)
class Options(Limits):
    """The options of `evaluate`, with their defaults: its limits, and what becomes of the rows."""

    retriever: RetrieverLike | None = None
    progress: bool = True
    sink: Sink | None = None
    output: str | Path | None = None
    corpus: CorpusLike | None = None
    view: View = "contexts"
    id_key: IdKey | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_choice(self.view, "view", get_args(View))
        check_id_key(self.id_key)
        if self.sink is not None and not callable(self.sink):
            raise ParameterError(f"sink must be a function or None, got {self.sink!r}")

    @property
    def reads_no_row(self) -> bool:
        """Whether nothing looks at rows while they are scored."""
        is_unseen = self.retriever is None and self.sink is None and self.deadline is None
        return is_unseen and self.corpus is None and self.view == "contexts"


class RunOptions(LimitOptions, total=False):
    """The same for type checkers: what `evaluate` and whatever passes options on to it take."""

    retriever: RetrieverLike | None
    progress: bool
    sink: Sink | None
    output: str | Path | None
    corpus: CorpusLike | None
    view: View
    id_key: IdKey | None


def evaluate(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    **options: Unpack[RunOptions],
) -> Report:
    """Score every sample with every scorer and return the report, in the samples' order.

    `samples` may be any iterable of `Sample`s or of mappings with the fields of one, or a data
    frame of any library that narwhals reads, and is read once. Where scorers ask models, many
    samples are in flight at a time; the report is the same whatever `max_concurrency` is. Works
    in a running event loop too, as in a notebook or a server, which it blocks: `aevaluate` does
    not.

    - `retriever`: is asked each sample's `user_input`, up to `max_concurrency` at a time, each
      within `timeout`; what it returns is scored. A function of the question, sync or async, a
      `Retriever`, such as `observed(…)` of an adapter returns, or a retriever of LangChain or
      LlamaIndex. It returns IDs, texts, (id, text) or (id, score), mappings, `Context`s, rows of a
      database, or what another library's search returns. One that requires a `k` gets 100.
      Default: samples have their retrieval. Where it raises, the sample is unscored with that
      reason.
    - `max_concurrency`: requests on their way at a time, 16 by default; each model is asked less
      for as long as its endpoint answers that its rate limit is exceeded.
    - `timeout`: seconds for one request, 60 by default, None for no bound. `deadline`: seconds for
      the whole run; what was not measured by then is unscored. Default: None.
    - `retries`: how requests that fail for the moment are sent again, or how often. Default: 4.
    - `store`: a file, a `Store`, or the URL of a Redis server (`redis://host:6379/0`) that keeps
      what models answer, so that a later run goes on where this one ended, and runs beside it ask
      nothing that this one asks. None keeps it in memory, for this run. It is opened, and a file
      made, also where no scorer asks a model.
    - `budget`: what the run may spend; beyond it, samples are unscored.
    - `progress`: show a bar on standard error, every 30 seconds where that is no terminal.
    - `output`: rows are written here as they come, and the report is that of the file; a killed
      run leaves what it had written. A name that ends in ".parquet" becomes a directory of Parquet
      files, for more samples than memory holds; one that ends in ".jsonl" is one file, which is
      read into memory in the end.
    - `sink`: called with each sample's `Row`, in order, as soon as the rows before it are there.
    - `corpus`: what the retriever searches: whatever `fullrecall.read.documents_of` takes (a
      folder, a file, documents, contexts), or a `CorpusIndex` of it. It is read once, before
      anything is scored. A sample whose label is stale in it (`fullrecall.corpus.stale_label`) is
      unscored, with that reason, in each score that depends on the label: never 0.0. The report
      keeps the corpus' fingerprint. Spans are compared where the corpus has their documents whole;
      its texts are in memory meanwhile, unless `samples` is a list of `Sample`s.
    - `view`: which list of each sample's record is scored (`Retrieval.view`): "contexts", the final
      one, is the default; "retrieved" is all that was retrieved, "read" what the model's prompt
      had whole. The report's samples have that list. A sample whose record does not tell, or that
      has none, is unscored with the reason.
    - `id_key`: where each retrieved context has its ID: a dotted path, such as "metadata.source",
      or a function of what the retriever, or the sample's row, has there. Default: usual names.

    A sample that cannot be measured is in the report as "unscored" with the reason, and so is
    one on which a scorer raised. `report.spent` tells what the run sent and paid.

    Raises `ParameterError` for an argument out of its range and for two scorers of one name.
    Raises `StoreError` for a store that cannot be opened, and `ReportError` for an `output` that
    exists or has another suffix, and `InputError` for a `corpus` that cannot be read, before
    anything is scored.
    Raises, with what had been scored until then as its `report`: `InputError` for an item that is
    not a sample, `RunStopped` where a model answers nobody, `Interrupted` at Ctrl-C, and whatever
    reading `samples` or `sink` raises.
    """
    from fullrecall.evaluation.chunks import takes_chunks
    from fullrecall.run.drivers import rows_of

    chosen = _options(options)
    samples, run = _run(samples, scorers, chosen)
    run.corpus = corpus_index(chosen.corpus, samples)
    with interruptible() as run.interruption, _reporting(run, chosen, samples) as scored:
        if run.asks_nobody and chosen.reads_no_row and takes_chunks(run.scorers):
            _score_chunks(samples, run, scored)
        else:
            with closing(rows_of(as_samples(samples), run)) as rows:
                for row in rows:
                    scored.add(row)
    return scored.report


def _run(
    samples: Iterable[SampleLike], scorers: Sequence[Scorer] | Scorer, chosen: Options
) -> tuple[Iterable[SampleLike], Run]:
    """Return the samples, with the IDs that `id_key` names, and the run that scores them."""
    from fullrecall.run.work import Run

    retriever = None
    if chosen.retriever is not None:
        from fullrecall.run.retrievers import as_retriever

        retriever = as_retriever(chosen.retriever, id_key=chosen.id_key)
    elif chosen.id_key is not None:
        samples = _rows_as_samples(samples, chosen.id_key)
    return samples, Run(check_scorers(scorers), chosen, view=chosen.view, retriever=retriever)


def corpus_index(corpus: CorpusLike | None, samples: object = None) -> CorpusIndex | None:
    """Return a corpus by its IDs, with the texts that the samples' spans may be in."""
    if corpus is None or isinstance(corpus, CorpusIndex):
        return corpus
    from fullrecall.read.documents import documents_of

    all_samples = isinstance(samples, (list, tuple)) and all(
        isinstance(sample, Sample) for sample in samples
    )
    listed = cast("Sequence[Sample]", samples) if all_samples else None
    return CorpusIndex.of(documents_of(corpus), listed)


def _score_chunks(samples: Iterable[SampleLike], run: Run, scored: _Scored) -> None:
    """Score samples many at a time; all that were read are scored, whatever ends the run."""
    from fullrecall.evaluation.chunks import chunks, part_of

    for chunk in chunks(samples if type(samples) is list else _items(samples)):
        first = scored.count + 1
        try:
            part = part_of(chunk, first, run.scorers, as_sample_at)
        except InputError as error:
            if error.line is not None and error.line > first:
                read = chunk[: error.line - first]
                scored.add_part(part_of(read, first, run.scorers, as_sample_at))
            raise
        scored.add_part(part)
        if run.interruption.is_asked:
            raise KeyboardInterrupt


async def aevaluate(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    **options: Unpack[RunOptions],
) -> Report:
    """Return what `evaluate` does, without blocking the event loop that runs it.

    Models are asked in this loop. Samples are read and scored in one thread beside it. Connections
    that models keep for this loop stay open: `await model.aclose()` closes those of an
    `OpenAIChatModel`. A cancelled task ends the run; what a `store` has is kept.
    """
    from fullrecall.run.drivers import arows_of

    chosen = _options(options)
    samples, run = _run(samples, scorers, chosen)
    if chosen.corpus is not None:
        import asyncio

        run.corpus = await asyncio.to_thread(corpus_index, chosen.corpus, samples)
    with _reporting(run, chosen, samples) as scored:
        async with aclosing(arows_of(as_samples(samples), run)) as rows:
            async for row in rows:
                scored.add(row)
    return scored.report


def _show_options(function: Any) -> None:
    """Have `help` and notebooks show each option by its name, with its default."""
    kind = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.signature(function)
    *positional, _ = signature.parameters.values()
    shown = [
        inspect.Parameter(each.name, kind, default=each.default, annotation=each.type)
        for each in fields(Options)
        if each.default is not MISSING
    ]
    function.__signature__ = signature.replace(parameters=[*positional, *shown])


_show_options(evaluate)
_show_options(aevaluate)


class _Scored:
    """Where scored rows go: into the report, or into the file that it then reads."""

    def __init__(self, report: Report, meter: Meter | None, options: Options) -> None:
        self.report = report
        self.count = 0
        self._meter = meter
        self._options = options
        self._writer: Writer | None = None

    def add(self, row: Row) -> None:
        """Add one row."""
        if self._writer is None:
            self.report.add(row)
        else:
            self._writer.write(row.sample, row.results)
        self.count += 1
        if self._options.sink is not None:
            self._options.sink(row)
        if self._meter is not None:
            self._meter.add(row)

    def add_part(self, part: Part) -> None:
        """Add rows that were scored together."""
        (self._writer or self.report.table).add(part)
        self.count += len(part)
        if self._meter is not None:
            self._meter.add_part(part, len(self.report.methods))

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Write to the file, if one was named, and have the report read it in the end."""
        path = self._options.output
        if path is None:
            yield
            return
        from fullrecall.results import files

        try:
            with files.writer(path, self.report.methods, self.report.origin) as self._writer:
                yield
        finally:
            self.report.table = files.open_report(path).table


@contextmanager
def _reporting(run: Run, options: Options, samples: object) -> Iterator[_Scored]:
    """Yield what takes the rows of the report; whatever ends the run goes with the report."""
    from fullrecall.run.progress import Meter

    report = Report([scorer.method for scorer in run.scorers])
    corpus = None if run.corpus is None else run.corpus.fingerprint
    report.origin = Origin(corpus, run.view)
    meter = Meter(run, total=length_hint(samples) or None)
    scored = _Scored(report, meter if options.progress else None, options)
    try:
        with closing(meter), scored.writing():
            yield scored
    except (Exception, KeyboardInterrupt) as error:
        # A second Ctrl-C may strike what ends the run, which then fails in ways of its own.
        if run.interruption.is_repeated or isinstance(error, KeyboardInterrupt):
            report.stopped = ending(KeyboardInterrupt())
            raise Interrupted(report) from None
        report.stopped = ending(error)
        with suppress(AttributeError):  # what has slots takes nothing
            error.report = report  # type: ignore[attr-defined]
        if not isinstance(error, FullrecallError):
            error.add_note(
                f"It ended the run. error.report has the {len(report):,} samples so far."
            )
        raise
    finally:
        report.spent = replace(run.spent, seconds=run.seconds)


def as_samples(samples: Iterable[SampleLike]) -> Generator[Sample]:
    """Yield the items of `samples` as `Sample`s; `InputError` names the first that is none."""
    for position, item in enumerate(_items(samples), start=1):
        yield as_sample_at(item, position)


def _items(samples: Iterable[SampleLike]) -> Iterator[SampleLike]:
    if is_frame(samples):  # an Arrow table is no iterable
        yield from _rows_as_samples(samples)
        return
    if isinstance(samples, (str, bytes, Mapping, Sample)) or not isinstance(samples, Iterable):
        is_single = isinstance(samples, (Mapping, Sample))
        way_out = "wrap it in a list" if is_single else "fullrecall.read.read(path) reads a file"
        if isinstance(samples, AsyncIterable):
            way_out = "collect it: [sample async for sample in samples]"
        raise InputError(
            f"samples must be an iterable of Samples, got {type(samples).__name__}: {way_out}"
        )
    yield from samples


def _rows_as_samples(rows: Any, id_key: IdKey | None = None) -> Iterator[Sample]:
    from fullrecall.read import from_rows

    return from_rows(rows, id_key=id_key)


def as_sample_at(item: object, position: int) -> Sample:
    """Return an item as a `Sample`; raise `InputError`, naming its position, where it is none."""
    if isinstance(item, Sample):
        return item
    if type(item) is dict or isinstance(item, Mapping):
        from fullrecall.read.rows import Columns, sample_of

        try:
            return sample_of(item, Columns(None))
        except InputError as error:
            raise error.at(line=position) from None
    raise InputError(
        f"expected a Sample or a mapping, got {type(item).__name__} (fullrecall.read.from_rows "
        "takes data frames and the data sets of other tools)",
        line=position,
    )


def _options(options: Mapping[str, Any]) -> Options:
    """Return the options of `evaluate`; `ParameterError` names the nearest to an unknown one."""
    option_names = [field.name for field in fields(Options)]
    for name in options:
        if name == "k":
            raise ParameterError("k belongs to a measure: report.summary(Recall @ 5)")
        if name not in option_names:
            near = get_close_matches(name, option_names, 1)
            way = f"did you mean {near[0]}?" if near else f"choose one of {', '.join(option_names)}"
            raise ParameterError(f"evaluate has no option {name!r}: {way}")
    return Options(**options)


def check_scorers(scorers: Sequence[Scorer] | Scorer) -> Sequence[Scorer]:
    """Return `scorers` as a sequence; raise `ParameterError` unless their names differ."""
    if isinstance(scorers, (Scorer, str, Measure)):
        scorers = (scorers,)  # what is no scorer is refused below
    if not scorers:
        raise ParameterError("scorers is empty: pass at least one, such as IdRecall()")
    names: set[str] = set()
    columns = {"sample", "user_input", "group"}
    for scorer in scorers:
        if isinstance(scorer, Measure):
            raise ParameterError(
                f"{scorer!r} is a measure, not a scorer: pass a scorer, such as IdRecall(), and "
                f"ask its report: report.summary({scorer!r})"
            )
        if isinstance(scorer, type) or not isinstance(scorer, Scorer):
            raise ParameterError(f"{scorer!r} is not a scorer: pass an instance such as IdRecall()")
        if scorer.method.name in names:
            raise ParameterError(
                f"two scorers are named {scorer.method.name!r}: pass name=… to one of them; one "
                "scorer answers for every k and every measure"
            )
        names.add(scorer.method.name)
        if scorer.method.name in columns:
            raise ParameterError(
                f"{scorer.method.name!r} is the name of a column of every report: choose another "
                "name="
            )
    return scorers
