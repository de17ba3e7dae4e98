"""Results of LlamaIndex's runners as data frames that say what was not measured.

LlamaIndex's own frames count a result without a score as 0 (`get_results_df`) or drop it without
a word (`get_eval_results_df`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isnan
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from llama_index.core.evaluation import EvaluationResult, RetrievalEvalResult

from fullrecall import InputError, Result, Status
from fullrecall.extras import pandas
from llama_index.evaluation.fullrecall.refusing import got
from llama_index.evaluation.fullrecall.results import RecallEvaluationResult

if TYPE_CHECKING:
    import pandas as pd

Results: TypeAlias = Mapping[str, Sequence[EvaluationResult] | Sequence[RetrievalEvalResult]]
"""What `BatchEvalRunner` returns: results by the evaluator's name; or lists by a retriever's."""


class _Score(NamedTuple):
    """One score of one sample: a row of `results_frame`."""

    evaluator: str
    measure: str
    stage: str
    sample: int
    query: str | None
    score: float | None
    status: str
    reason: str | None


def results_frame(results: Results) -> pd.DataFrame:
    """Return one row per score: evaluator, measure, stage, sample, query, score, status, reason.

    `results` is what `BatchEvalRunner` returns, of any evaluators, or a mapping from names to
    lists of what `RetrieverEvaluator` returns. `sample` counts from 1 in the runner's order.
    `stage` is "final", and for results of attached engines each stage before it too. `status` is
    "scored", "undefined" (nothing to recall) or "unscored", with the `reason`; a score that is
    missing is no number in any mean.

    Raises `InputError` for what is no mapping and for items that are no results; needs the extra
    `pandas`.
    """
    if not isinstance(results, Mapping):
        raise InputError(
            "results is a mapping from names to lists of results, as BatchEvalRunner returns: "
            f"give {{'recall': results}}, {got(results)}"
        )
    columns = list(_Score._fields)
    frame: pd.DataFrame = pandas("results_frame()").DataFrame(_scores(results), columns=columns)
    return frame.astype({"score": "float64", "sample": "int64"})


def summary_frame(results: Results) -> pd.DataFrame:
    """Return one row per evaluator, measure and stage: the mean, and what it stands on.

    `mean` is over the `scored` samples alone; `undefined` and `unscored` count the others, and
    `reasons` is a dict of how often each reason was given for those. Everything else is as for
    `results_frame`.
    """
    frame = results_frame(results)
    keys = ["evaluator", "measure", "stage"]
    rows = []
    for key, group in frame.groupby(keys, sort=False):
        statuses = group["status"].value_counts()
        without = group.loc[group["status"] != "scored", "reason"].fillna("no reason given")
        counts = {str(status): int(statuses.get(str(status), 0)) for status in Status}
        rows.append(
            dict(zip(keys, key, strict=True))
            | {"mean": group["score"].mean(), **counts, "reasons": dict(without.value_counts())}
        )
    columns = [*keys, "mean", *map(str, Status), "reasons"]
    summary: pd.DataFrame = pandas("summary_frame()").DataFrame(rows, columns=columns)
    return summary.astype({"mean": "float64"})


def _scores(results: Results) -> Iterator[_Score]:
    for evaluator, given in results.items():
        for position, result in enumerate(given, start=1):
            if isinstance(result, RecallEvaluationResult):
                for stage, one in {**result.stages, "final": result.result}.items():
                    yield _of_result(evaluator, stage, position, result.query, one)
            elif isinstance(result, EvaluationResult):
                yield _of_another(evaluator, position, result)
            elif isinstance(result, RetrievalEvalResult):
                yield from _of_metrics(evaluator, position, result)
            else:
                raise InputError(
                    f"{evaluator!r}, sample {position}: an EvaluationResult or a "
                    f"RetrievalEvalResult is meant, got {type(result).__name__}"
                )


def _of_result(
    evaluator: str, stage: str, position: int, query: str | None, result: Result
) -> _Score:
    return _Score(
        evaluator,
        result.method.label,
        stage,
        position,
        query,
        result.score,
        str(result.status),
        result.reason,
    )


def _of_another(evaluator: str, position: int, result: EvaluationResult) -> _Score:
    """Return the score of another evaluator: an invalid result has none, whatever it says."""
    missing = result.invalid_result or result.score is None or isnan(result.score)
    return _Score(
        evaluator,
        "score",
        "final",
        position,
        result.query,
        None if missing else result.score,
        str(Status.UNSCORED if missing else Status.SCORED),
        result.invalid_reason if missing else result.feedback,
    )


def _of_metrics(evaluator: str, position: int, result: RetrievalEvalResult) -> Iterator[_Score]:
    for name, metric in result.metric_dict.items():
        missing = isnan(metric.score)
        yield _Score(
            evaluator,
            name,
            "final",
            position,
            result.query,
            None if missing else metric.score,
            metric.metadata.get("status", str(Status.UNSCORED if missing else Status.SCORED)),
            metric.metadata.get("reason"),
        )
