"""Documents that an application reports by `record`, since no retriever does."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from known_engines import Brings
from llama_index.core.llms import MockLLM
from llama_index.core.response_synthesizers import get_response_synthesizer
from llama_index.core.schema import NodeWithScore, TextNode

from fullrecall import Context, Retrieval, Sample, record
from llama_index.evaluation.fullrecall import capture_retrievals, observed

_NODES = [NodeWithScore(node=TextNode(id_=id_, text=f"about {id_}")) for id_ in "ab"]
_HITS = [{"id": id_, "text": f"about {id_}"} for id_ in "ab"]


@pytest.mark.parametrize(
    "documents",
    [
        _NODES,
        [(each, 0.5) for each in _NODES],
        _HITS,
        {"results": _HITS},
        {"ids": [["a", "b"]], "documents": [["about a", "about b"]]},
        [Context("about a", id="a"), Context("about b", id="b")],
        ["a", "b"],
    ],
    ids=["nodes", "pairs", "hits", "envelope", "columns", "contexts", "ids"],
)
def test_documents_of_any_form_are_one_ranked_list(documents: Any) -> None:
    """Reported documents are one call with the question, for any output of the function."""

    def ask(question: str) -> str:
        assert record(documents, query=question) is documents
        return "An answer."

    found = observed(ask).retrieve(Sample(user_input="q"))
    assert [each.id for each in found.contexts or ()] == ["a", "b"]
    assert [(call.source, call.query) for call in found.calls] == [("record", "q")]


def test_an_answer_from_a_part_of_them_counts_that_part() -> None:
    """A step that cuts a reported list cuts the final list."""
    with capture_retrievals() as capture:
        found = record(_NODES)
        get_response_synthesizer(llm=MockLLM()).synthesize("q", found[1:])
    assert [each.id for each in capture.retrieval().contexts or ()] == ["b"]


def test_a_wrong_document_leaves_the_record_unscored() -> None:
    """A reported object that is no document leaves the record unscored, and raises nothing."""

    def ask(question: str) -> str:
        record(object())
        return "An answer."

    assert "not recorded completely" in (observed(ask).retrieve(Sample(user_input="q")).error or "")


def test_outside_of_a_recorded_call_nothing_happens() -> None:
    """Outside of a recorded call, `record` does nothing."""
    assert record(_NODES) is _NODES


def test_awaited_calls_and_their_threads_report_to_their_own_question() -> None:
    """Each of many questions at once has its own documents, in the order of the reports."""

    async def ask(question: str) -> str:
        await asyncio.sleep(0)
        record([f"{question}-1"], query=question)
        await asyncio.to_thread(record, [f"{question}-2"], query=f"again {question}")
        return "An answer."

    async def all_of_them() -> list[Any]:
        retriever = observed(ask)
        samples = [Sample(user_input=f"q{number}") for number in range(20)]
        return await asyncio.gather(*map(retriever.aretrieve, samples))

    for number, found in enumerate(asyncio.run(all_of_them())):
        ids = {each.id for each in found.contexts or ()}
        assert ids == {f"q{number}-1", f"q{number}-2"}
        assert [call.query for call in found.calls] == [f"q{number}", f"again q{number}"]


def test_a_function_that_returns_its_own_record_is_believed() -> None:
    """A `Retrieval` that a function returns is the record, whatever was observed in it."""
    own = Retrieval([Context("Own text.", id="own")])

    def ask(question: str) -> Retrieval:
        Brings("seen").retrieve(question)
        return own

    assert observed(ask).retrieve(Sample(user_input="q")) is own
