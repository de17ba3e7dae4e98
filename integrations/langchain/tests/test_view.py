"""The evaluator scores the chosen list of a record, and checks labels against a corpus."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_core.documents import Document
from langchain_core.language_models import FakeListChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableLambda
from langsmith import Client, evaluate

from fullrecall import Context
from fullrecall.errors import ParameterError
from langchain_fullrecall import RecallStringEvaluator


class Three(BaseRetriever):
    """A retriever of three documents."""

    def _get_relevant_documents(self, query: str, **_: Any) -> list[Document]:
        return [Document(f"All that is known about {own} is here.", id=own) for own in "abc"]


@pytest.mark.filterwarnings("ignore:'upload_results' parameter is in beta")
def test_each_list_of_a_record(example: Any, client: Client) -> None:
    """Three documents were retrieved, two kept, and one was in the prompt; each list is scored."""

    def answer(documents: list[Document]) -> str:
        model = FakeListChatModel(responses=["An answer."])
        return str(model.invoke(documents[0].page_content).content)

    kept = RunnableLambda(lambda documents: documents[:2])
    chain: Any = Three() | kept | RunnableLambda(answer)
    views: Any = ("retrieved", "contexts", "read")
    evaluators = [RecallStringEvaluator(view=view) for view in views]
    rows = evaluate(
        lambda inputs: {"answer": chain.invoke(inputs["question"])},
        data=[example("q", reference_context_ids=["a", "b", "c", "d"])],
        evaluators=evaluators,
        client=client,
        upload_results=False,
    )
    (found,) = [row["evaluation_results"]["results"] for row in rows]
    assert {each.key: each.score for each in found} == {
        "id_recall[retrieved]": 0.75,
        "id_recall": 0.5,
        "id_recall[read]": 0.25,
    }


def test_a_view_that_the_record_lacks_is_unscored() -> None:
    """A list that the record lacks is unscored, and an unknown view is refused."""
    evaluator = RecallStringEvaluator(view="read")
    result = evaluator.evaluate_strings(
        prediction=[Document("a", id="a")], reference=["a"], input="q"
    )
    assert result["score"] is None
    with pytest.raises(ParameterError, match="view must be 'contexts' or 'retrieved' or 'read'"):
        RecallStringEvaluator(view="prompt")  # type: ignore[arg-type]


@pytest.mark.parametrize("awaited", [False, True])
def test_a_label_that_the_corpus_no_longer_has_is_unscored(*, awaited: bool) -> None:
    """A label that the corpus no longer has is unscored, and the other samples are scored."""
    evaluator = RecallStringEvaluator(corpus=[Context("Paris.", id="a")])
    scores = {}
    for label in ("a", "b"):
        given: Any = {
            "prediction": [Document("Paris.", id="a")],
            "reference": [label],
            "input": "q",
        }
        scores[label] = (
            asyncio.run(evaluator.aevaluate_strings(**given))
            if awaited
            else evaluator.evaluate_strings(**given)
        )
    assert (scores["a"]["score"], scores["b"]["score"]) == (1.0, None)
    assert "stale label: 'b' is not in the corpus" in scores["b"]["reasoning"]
