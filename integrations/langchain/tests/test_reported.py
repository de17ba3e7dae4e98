"""Documents that an application reports by `record`, since no retriever does."""

from __future__ import annotations

import asyncio
from typing import Any

from langchain_core.documents import Document
from langsmith import traceable, tracing_context
from langsmith.run_helpers import get_current_run_tree

from fullrecall import Sample, record
from langchain_fullrecall import observed, offline_client


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


def test_reported_documents_are_in_the_trace() -> None:
    """A report inside a traced function is a retriever's run below it, with its documents."""
    trees: list[Any] = []

    @traceable
    def ask(question: str) -> str:
        record([Document("text", id="a", metadata={"n": 1})], query=question)
        trees.append(get_current_run_tree())
        return "An answer."

    with tracing_context(enabled=True, client=offline_client()):
        ask("q")
    (run,) = trees[0].child_runs
    assert (run.name, run.run_type, run.inputs) == ("record", "retriever", {"query": "q"})
    assert run.outputs == {
        "documents": [{"id": "a", "page_content": "text", "metadata": {"n": 1}, "type": "Document"}]
    }
