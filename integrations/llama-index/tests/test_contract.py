"""The results through LlamaIndex's own nodes equal those of the core."""

from __future__ import annotations

from typing import Any

import pytest
from llama_index.core.schema import NodeWithScore, TextNode

from fullrecall import IdRecall, SpanRecall, TextRecall
from fullrecall.scorers import Result, Scorer
from llama_index.evaluation.fullrecall import RecallEvaluator


def through_llama_index(
    retrieved: list[dict[str, Any]], *, scorer: Scorer | None = None, **reference: Any
) -> Result:
    """Return the result of `RecallEvaluator` for `retrieved`, as nodes of LlamaIndex.

    A node always has its own ID, so if an item has none, the IDs are in the metadata.
    """
    some_lack_one = any(item.get("id") is None for item in retrieved)
    nodes = [
        NodeWithScore(
            node=TextNode(
                id_=str(item.get("id")),
                text=item.get("text") or "",
                metadata={} if item.get("id") is None else {"doc": item["id"]},
            ),
            score=item.get("score"),
        )
        for item in retrieved
    ]
    evaluator = RecallEvaluator(scorer, id_key="doc" if some_lack_one else "node_id")
    return evaluator.evaluate(retrieved_nodes=nodes, **reference).result


A, B, C = ({"id": name, "text": f"All that is known about {name * 9}."} for name in "abc")

CASES: dict[str, tuple[list[dict[str, Any]], dict[str, Any]]] = {
    "found": ([A, B], {"reference_context_ids": ["a", "c"]}),
    "order is rank": ([C, B, A], {"reference_context_ids": ["a"]}),
    "nothing retrieved": ([], {"reference_context_ids": ["a"]}),
    "no reference items": ([A], {"reference_context_ids": []}),
    "field missing": ([A], {}),
    "ints are strs": ([{"id": 1, "text": "x"}], {"reference_context_ids": ["1"]}),
    "duplicates": ([A, A, B], {"reference_context_ids": ["a", "b"]}),
    "duplicate references": ([A], {"reference_context_ids": ["a", "a", "b"]}),
    "any of": ([B], {"reference_context_ids": [["a", "b"], ["c"]]}),
    "graded": ([A], {"reference_context_ids": {"a": 3, "b": 0}}),
    "some have no ID": ([A, {"text": "x"}], {"reference_context_ids": ["a", "x"]}),
    "none has an ID": ([{"text": "x"}], {"reference_context_ids": ["a"]}),
    "texts": ([A, B], {"reference_contexts": [A["text"], C["text"]]}),
}


@pytest.mark.parametrize("scorer", [IdRecall(), TextRecall(), SpanRecall()], ids=repr)
@pytest.mark.parametrize("case", CASES)
def test_a_result_is_that_of_the_core(case: str, scorer: Any) -> None:
    """The adapter only translates: findings, status and reason are the core's."""
    retrieved, reference = CASES[case]
    ours = through_llama_index(retrieved, scorer=scorer, **reference)
    assert ours == scorer.score(retrieved_contexts=retrieved, **reference)


def test_the_cases_tell_results_apart() -> None:
    """The cases cover all three statuses and several scores."""
    results = [through_llama_index(rows, **reference) for rows, reference in CASES.values()]
    assert {str(result.status) for result in results} == {"scored", "undefined", "unscored"}
    assert {result.score for result in results} == {None, 0.0, 0.5, 1.0}
