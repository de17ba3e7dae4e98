"""Documents that an application reports by `record`, since no retriever does."""

from __future__ import annotations

import asyncio
from typing import Any

from fullrecall import Sample, record
from langchain_fullrecall import observed


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
