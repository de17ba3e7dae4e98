"""The evaluation result of LlamaIndex, with the whole fullrecall result inside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from llama_index.core.evaluation.base import EvaluationResult
from pydantic import Field, PlainSerializer, PlainValidator

from fullrecall import Report, Sample
from fullrecall.errors import InputError
from fullrecall.files.reports.records import MethodRecord, ResultRecord, plain_method, plain_result
from fullrecall.report import Row
from fullrecall.scorers import Result
from llama_index.evaluation.fullrecall.nodes import got


def _validated(value: object) -> Result:
    if isinstance(value, Result):
        return value
    if isinstance(value, Mapping) and "method" in value:
        fields = dict(value)
        method = MethodRecord.read(fields.pop("method")).method
        return ResultRecord.read(fields).result(method)
    raise ValueError(f"expected a fullrecall Result, got {type(value).__name__}")


def _sample(value: object) -> Sample:
    if isinstance(value, Mapping):
        return Sample(**value)
    if isinstance(value, Sample):
        return value
    raise ValueError(f"expected a fullrecall Sample, got {type(value).__name__}")


_Stored = Annotated[
    Result,
    PlainValidator(_validated),
    PlainSerializer(
        lambda result: {
            "method": plain_method(result.method),
            **plain_result(result, result.score),
        },
        return_type=dict[str, Any],
    ),
]
_StoredSample = Annotated[
    Sample, PlainValidator(_sample), PlainSerializer(Sample.to_dict, return_type=dict[str, Any])
]


class RecallEvaluationResult(EvaluationResult):
    """The result of `RecallEvaluator`: LlamaIndex's own fields, and the whole fullrecall `result`.

    - `result`: the findings, any measure of them (`result[nDCG @ 10]`), and the status. The status
      distinguishes an undefined score from an unscored one: both have `score=None` and
      `invalid_result=True`.
    - `scores`: the evaluator's measures by name, such as "id_recall@5".
    - `stages`: for each stage before the scored list, the result as if the retrieval had ended with
      this stage; by name, in the order in which the stages ran.
    - `sample`: the measured sample, with the record of the retrieval.

    A result dumped to JSON and read again is equal.
    """

    result: _Stored = Field(description="The fullrecall result: findings, measures, status, reason")
    sample: _StoredSample = Field(description="What was measured")
    scores: dict[str, float | None] = Field(
        default_factory=dict, description="The evaluator's measures by name"
    )
    stages: dict[str, _Stored] = Field(
        default_factory=dict, description="The results at the stages before, by name"
    )


def report_of(results: Mapping[str, Sequence[object]] | Sequence[object], /) -> Report:
    """Return the results of `RecallEvaluator`s as a report.

        report_of(runner.evaluate_queries(engine, queries, expected_ids=ids)).summary(Recall @ 5)

    `results` is the mapping that `BatchEvalRunner` returns, with a list of results for each
    evaluator, or a single list. The report counts the samples without a score, with the reasons;
    LlamaIndex's own frames count them as 0 or drop them. Results of other evaluators are left out.
    Raises `InputError` without any result of a `RecallEvaluator`, and for lists of different
    lengths.
    """
    lists = list(results.values()) if isinstance(results, Mapping) else [results]
    if any(isinstance(result, str) or not isinstance(result, Sequence) for result in lists):
        raise InputError(
            f"results must be lists of results, as BatchEvalRunner returns them, {got(results)}"
        )
    ours = [
        [result for result in each if isinstance(result, RecallEvaluationResult)] for each in lists
    ]
    ours = [each for each in ours if each]
    if not ours:
        raise InputError("expected results of a RecallEvaluator, got none")
    if len({len(each) for each in ours}) > 1:
        raise InputError("the evaluators have results of different numbers of samples")
    rows = [
        Row(position, together[0].sample, tuple(result.result for result in together))
        for position, together in enumerate(zip(*ours, strict=True), start=1)
    ]
    return Report.of([each[0].result.method for each in ours], rows)
