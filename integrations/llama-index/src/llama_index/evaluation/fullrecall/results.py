"""The evaluation result of LlamaIndex, with the whole fullrecall result inside."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from llama_index.core.evaluation.base import EvaluationResult
from pydantic import Field, PlainSerializer, PlainValidator

from fullrecall import Method, Result


def _validated(value: object) -> Result:
    if isinstance(value, Result):
        return value
    if isinstance(value, Mapping) and "method" in value:
        plain = dict(value)
        return Result.from_dict(plain, Method.from_dict(plain.pop("method")))
    raise ValueError(f"a fullrecall Result is meant, got {type(value).__name__}")


def _plain(result: Result) -> dict[str, Any]:
    return {"method": result.method.to_dict(), **result.to_dict()}


_Stored = Annotated[
    Result, PlainValidator(_validated), PlainSerializer(_plain, return_type=dict[str, Any])
]


class RecallEvaluationResult(EvaluationResult):
    """What `RecallEvaluator` returns: LlamaIndex's own fields, and `result` with all the rest.

    `result` has the findings, the measures, recall at every k, and the status that tells an
    undefined score from one that could not be measured; both have `score=None` and
    `invalid_result=True`. `stages` has the result of each stage before the list that was scored,
    in the order in which they ran, as if the retrieval had ended there: "retrieved" is what the
    retrievers brought before reranking. Dumped to JSON and read again, it is the same.
    """

    result: _Stored = Field(description="The fullrecall result: findings, measures, status, reason")
    stages: dict[str, _Stored] = Field(
        default_factory=dict, description="The results at the stages before, by name"
    )
