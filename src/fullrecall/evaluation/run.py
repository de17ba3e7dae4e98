"""`evaluate`: samples in, a report out."""

from __future__ import annotations

import inspect
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Callable,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import aclosing, asynccontextmanager, closing, contextmanager, suppress
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, TypedDict, Unpack

from fullrecall.errors import FullrecallError, InputError, Interrupted, ParameterError
from fullrecall.evaluation.interruption import interruptible
from fullrecall.evaluation.limits import Limits
from fullrecall.measures import Measure
from fullrecall.models.retries import Retries
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.report.text import ending
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer

if TYPE_CHECKING:
    from fullrecall.evaluation.asker import Asker
    from fullrecall.evaluation.budget import Budget
    from fullrecall.evaluation.drivers import Run
    from fullrecall.evaluation.progress import Meter, OnProgress
    from fullrecall.evaluation.retrievers import RetrieverLike
    from fullrecall.evaluation.served_store import ServedStore, Server
    from fullrecall.evaluation.store import JobFile, Store
    from fullrecall.report.found_rows import FoundRows

SampleLike: TypeAlias = Sample | Mapping[str, Any]
Keep: TypeAlias = Literal["rows", "summary"]
Sink: TypeAlias = Callable[[Row], object]


@dataclass(frozen=True)
class Options(Limits):
    """The options of `evaluate`, with their defaults: its limits, and what becomes of the rows."""

    retriever: RetrieverLike | None = None
    progress: bool = True
    on_progress: OnProgress | None = None
    log_every: float = 30.0
    sink: Sink | None = None
    keep: Keep = "rows"
    measures: Sequence[Measure] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.keep not in ("rows", "summary"):
            raise ParameterError(f"keep must be 'rows' or 'summary', got {self.keep!r}")
        for name in ("sink", "on_progress"):
            value = getattr(self, name)
            if value is not None and not callable(value):
                raise ParameterError(f"{name} must be a function or None, got {value!r}")


class RunOptions(TypedDict, total=False):
    """The same for type checkers: what `evaluate` and whatever passes options on to it take."""

    max_concurrency: int
    timeout: float | None
    deadline: float | None
    retries: Retries | int
    store: Store | ServedStore | JobFile | Server | str | Path | None
    budget: Budget | None
    retriever: RetrieverLike | None
    progress: bool
    on_progress: OnProgress | None
    log_every: float
    sink: Sink | None
    keep: Keep
    measures: Sequence[Measure]


def evaluate(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    **options: Unpack[RunOptions],
) -> Report:
    """Score every sample with every scorer and return the report, in the samples' order.

    `samples` may be any iterable of `Sample`s or of mappings with the fields of one, and is read
    once. Where scorers ask models, many samples are in flight at a time; the report is the same
    whatever `max_concurrency` is. Works in a running event loop too, as in a notebook or a
    server, which it blocks: `aevaluate` does not.

    - `retriever`: is asked each sample's `user_input`, up to `max_concurrency` at a time, each
      within `timeout`; what it returns is scored. A function of the question, sync or async, or
      a `Retriever`, such as `observed(…)` of an adapter returns. Default: samples have their
      retrieval. Where it raises, the sample is unscored with that reason.
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
    - `progress`: show a bar on standard error or, where that is no terminal, a line each
      `log_every` seconds. `on_progress` is called with a `Progress` after each sample.
    - `sink`: called with each sample's `Row`, in order, as soon as the rows before it are there.
    - `keep="summary"` keeps the totals only: memory stays flat however many samples a stream
      yields, and the report answers `summary()` but has no rows. `measures` are those that are
      totaled then, each score's headline at k = 1, 3, 5, 10 and whole if none is named; with rows,
      any measure can be asked of the report.

    A sample that cannot be measured is in the report as "unscored" with the reason, and so is
    one on which a scorer raised. `report.spent` tells what the run sent and paid.

    Raises `ParameterError` for an argument out of its range and for two scorers of one name.
    Raises `StoreError` for a store that cannot be opened, before anything is scored.
    Raises, with what had been scored until then as its `report`: `InputError` for an item that is
    not a sample, `RunStopped` where a model answers nobody, `Interrupted` at Ctrl-C, and whatever
    reading `samples`, `sink` or `on_progress` raises.
    """
    from fullrecall.evaluation.drivers import Run, rows_of
    from fullrecall.evaluation.id_ranks import find_ids, found_rows

    given = Options(**options)
    run = Run(check_scorers(scorers), given)
    found = found_rows(run) if given.retriever is None and given.sink is None else None
    with (
        interruptible() as run.interruption,
        _reporting(run, given, samples, found) as (report, add),
        closing(_retrieved(samples, given.retriever, run)) as drawn,
    ):
        if found is not None:
            find_ids(drawn, run, found, None if report.keeps_rows else report.tallies)
            return report
        for row in rows_of(drawn, run):
            add(row)
    return report


async def aevaluate(
    samples: Iterable[SampleLike] | AsyncIterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    **options: Unpack[RunOptions],
) -> Report:
    """Return what `evaluate` does, without blocking the event loop that runs it.

    Models are asked in this loop. Samples are read and scored in one thread beside it; they may
    come from an asynchronous iterable too. Connections that models keep for this loop stay open:
    `await model.aclose()` closes those of an `OpenAIChatModel`. A cancelled task ends the run;
    what a `store` has is kept.
    """
    from fullrecall.evaluation.drivers import Run, arows_of

    given = Options(**options)
    run = Run(check_scorers(scorers), given)
    with _reporting(run, given, samples) as (report, add):
        async with _aretrieved(samples, given.retriever, run) as drawn:
            async for row in arows_of(drawn, run):
                add(row)
    return report


def _show_options(function: Any) -> None:
    """Have `help` and notebooks show each option by its name, with its default."""
    kind = inspect.Parameter.KEYWORD_ONLY
    signature = inspect.signature(function)
    *given, _ = signature.parameters.values()
    shown = [
        inspect.Parameter(each.name, kind, default=each.default, annotation=each.type)
        for each in fields(Options)
        if each.default is not MISSING
    ]
    function.__signature__ = signature.replace(parameters=[*given, *shown])


_show_options(evaluate)
_show_options(aevaluate)


def _retrieved(
    samples: Iterable[SampleLike], retriever: RetrieverLike | None, run: Run
) -> Generator[Sample]:
    """Return samples with what the retriever, if there is one, returns for each."""
    if retriever is None:
        return as_samples(samples)
    return _asker(retriever, run).asked(as_samples(samples))


@asynccontextmanager
async def _aretrieved(
    samples: Iterable[SampleLike] | AsyncIterable[SampleLike],
    retriever: RetrieverLike | None,
    run: Run,
) -> AsyncIterator[Iterable[Sample] | AsyncIterable[SampleLike]]:
    """Yield the same as `_retrieved` returns, for an event loop."""
    if retriever is None:
        yield samples if isinstance(samples, AsyncIterable) else as_samples(samples)
        return
    drawn = _aas_samples(samples) if isinstance(samples, AsyncIterable) else as_samples(samples)
    async with aclosing(_asker(retriever, run).aasked(drawn)) as asked:
        yield asked


def _asker(retriever: RetrieverLike, run: Run) -> Asker:
    from fullrecall.evaluation.asker import Asker
    from fullrecall.evaluation.retrievers import as_retriever

    limits = run.limits
    return Asker(
        as_retriever(retriever),
        limits.max_concurrency,
        limits.timeout,
        run.seconds_left,
        run.interruption,
    )


async def _aas_samples(samples: AsyncIterable[SampleLike]) -> AsyncIterator[Sample]:
    position = 0
    async for item in samples:
        position += 1
        yield as_sample_at(item, position)


@contextmanager
def _reporting(
    run: Run, options: Options, samples: object, found: FoundRows | None = None
) -> Iterator[tuple[Report, Callable[[Row], None]]]:
    """Yield the report and what adds a row to it; whatever ends the run goes with the report."""
    from fullrecall.evaluation.progress import Meter, known_length

    methods = [scorer.method for scorer in run.scorers]
    keeps = options.keep == "rows"
    rows = found if keeps else None
    report = Report(methods, keep_rows=keeps, measures=options.measures, rows=rows)
    meter = Meter(
        run.account,
        total=known_length(samples),
        show=options.progress,
        log_every=options.log_every,
        on_progress=options.on_progress,
    )
    if meter.is_seen:
        run.beat, run.show, run.count = meter.beat, meter.add, meter.count
    run.totaled = report.totaled

    def add(row: Row) -> None:
        report.add(row)
        if options.sink is not None:
            options.sink(row)
        meter.add(row)

    with _ending(report, run, meter):
        yield report, add


@contextmanager
def _ending(report: Report, run: Run, meter: Meter) -> Iterator[None]:
    try:
        with meter:
            yield
    except Exception as error:
        report.stopped = ending(error)
        with suppress(AttributeError):  # what has slots takes nothing
            error.report = report  # type: ignore[attr-defined]
        if not isinstance(error, FullrecallError):
            error.add_note(
                f"It ended the run. error.report has the {len(report):,} samples so far."
            )
        raise
    except KeyboardInterrupt as interrupt:
        report.stopped = ending(interrupt)
        raise Interrupted(report) from None
    finally:
        report.spent = run.account.so_far()


def as_samples(samples: Iterable[SampleLike]) -> Generator[Sample]:
    """Yield the items of `samples` as `Sample`s; `InputError` names the first that is none."""
    for position, item in enumerate(_items(samples), start=1):
        yield as_sample_at(item, position)


def _items(samples: Iterable[SampleLike]) -> Iterator[SampleLike]:
    if isinstance(samples, (str, bytes, Mapping, Sample)) or not isinstance(samples, Iterable):
        one = isinstance(samples, (Mapping, Sample))
        way_out = "wrap it in a list" if one else "fullrecall.read.read(path) reads a file"
        raise InputError(
            f"samples must be an iterable of Samples, got {type(samples).__name__}: {way_out}"
        )
    yield from samples


def as_sample_at(item: object, position: int) -> Sample:
    """Return an item as a `Sample`; raise `InputError`, naming its position, where it is none."""
    if isinstance(item, Sample):
        return item
    if type(item) is dict or isinstance(item, Mapping):
        try:
            return Sample(**item)
        except InputError as error:
            raise error.at(line=position) from None
    raise InputError(
        f"expected a Sample or a mapping, got {type(item).__name__} (fullrecall.read.from_rows "
        "takes data frames and the data sets of other tools)",
        line=position,
    )


def check_scorers(scorers: Sequence[Scorer] | Scorer) -> Sequence[Scorer]:
    """Return `scorers` as a sequence; raise `ParameterError` unless their names differ."""
    if isinstance(scorers, (Scorer, str)):
        scorers = (scorers,)
    if not scorers:
        raise ParameterError("scorers is empty: pass at least one, such as IdRecall()")
    names: set[str] = set()
    columns = {"sample", "user_input", "group"}
    for scorer in scorers:
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
