"""`evaluate`: samples in, a report out."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Literal, TypeAlias

from fullrecall.errors import InputError, ParameterError
from fullrecall.evaluation.progress import known_length, with_progress
from fullrecall.report.report import Report
from fullrecall.report.row import Row
from fullrecall.result import Result, Status
from fullrecall.sample import Sample
from fullrecall.scorers.scorer import Scorer

SampleLike: TypeAlias = Sample | Mapping[str, Any]
Keep: TypeAlias = Literal["rows", "summary"]


def evaluate(
    samples: Iterable[SampleLike],
    scorers: Sequence[Scorer] | Scorer,
    *,
    progress: bool = True,
    keep: Keep = "rows",
) -> Report:
    """Score every sample with every scorer and return the report, in the samples' order.

    `samples` may be any iterable of `Sample`s or of mappings with the fields of one, and is read
    once. `keep="summary"` keeps the totals only: memory stays flat however many samples a stream
    yields, and the report answers `summary()` but has no rows.

    A sample that cannot be measured is in the report as "unscored" with the reason, and so is
    one on which a scorer raised. Raises `InputError` for an item that is no sample, with what
    had been scored until then as its `report`; `ParameterError` for two scorers of one name.
    """
    scorers = check_scorers(scorers)
    if keep not in ("rows", "summary"):
        raise ParameterError(f'keep is "rows" or "summary", got {keep!r}')
    report = Report([scorer.method for scorer in scorers], keep_rows=keep == "rows")
    total = known_length(samples)
    rows = score_rows(samples, scorers)
    try:
        for row in with_progress(rows, show=progress, total=total, unit="sample"):
            report.add(row)
    except InputError as error:
        error.report = report
        raise
    return report


def score_rows(samples: Iterable[SampleLike], scorers: Sequence[Scorer]) -> Iterator[Row]:
    """Yield each sample with its results as they are made; for streams that no memory holds.

    Raises `InputError`, naming the position, for an item that is no sample.
    """
    for position, sample in enumerate(as_samples(samples), start=1):
        yield Row(position, sample, tuple(score_one(scorer, sample) for scorer in scorers))


def as_samples(samples: Iterable[SampleLike]) -> Iterator[Sample]:
    """Yield the items of `samples` as `Sample`s; `InputError` names the first that is none."""
    if isinstance(samples, (str, bytes, Mapping, Sample)) or not isinstance(samples, Iterable):
        one = isinstance(samples, (Mapping, Sample))
        way_out = "wrap it in a list" if one else "fullrecall.datasets.read(path) reads a file"
        raise InputError(
            f"samples is an iterable of Samples, got {type(samples).__name__}: {way_out}"
        )
    for position, item in enumerate(samples, start=1):
        if isinstance(item, Sample):
            yield item
        elif isinstance(item, Mapping):
            try:
                sample = Sample(**item)
            except InputError as error:
                raise error.at(line=position) from None
            yield sample
        else:
            raise InputError(
                f"a Sample or a mapping is meant, got {type(item).__name__}", line=position
            )


def check_scorers(scorers: Sequence[Scorer] | Scorer) -> Sequence[Scorer]:
    """Return `scorers` as a sequence; raise `ParameterError` unless their names differ."""
    if isinstance(scorers, Scorer):
        scorers = (scorers,)
    if not scorers:
        raise ParameterError("scorers is empty: give at least one, such as IdRecall()")
    names: set[str] = set()
    columns = {"sample", "user_input", "group"}
    for scorer in scorers:
        if isinstance(scorer, type) or not isinstance(scorer, Scorer):
            raise ParameterError(f"{scorer!r} is no scorer: give an instance such as IdRecall()")
        if scorer.method.name in names:
            raise ParameterError(
                f"two scorers are named {scorer.method.name!r}: give one of them name=…; for "
                "several k, one scorer with ks=(…) gives them all"
            )
        names.add(scorer.method.name)
        method = scorer.method
        own = {method.label, *(f"{method.name}@{k}" for k in method.ks)}
        if own & columns:
            raise ParameterError(
                f"{min(own & columns)!r} would be the name of two columns: give "
                f"{method.name!r} another name="
            )
        columns |= own
    return scorers


def score_one(scorer: Scorer, sample: Sample) -> Result:
    """Return the scorer's result; "unscored", with the exception as its reason, if it raises.

    The one place where an exception becomes a result: none ends a run.
    """
    try:
        return scorer.score(sample)
    except Exception as error:  # noqa: BLE001 - whatever a user's similarity or scorer raises
        problem = f"{scorer.method.name} raised {type(error).__name__}: {error}"
        return Result(scorer.method, Status.UNSCORED, note=problem)
