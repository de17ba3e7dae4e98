"""What users write type-checks under mypy's strict rules, and what is wrong does not."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

PROGRAM = """
from collections.abc import Generator, Sequence
from typing import Any

from fullrecall import Context, IdRecall, LLMJudge, Report, Sample, diagnose
from langchain_core.documents import Document
from langchain_core.language_models import BaseChatModel
from langchain_core.retrievers import BaseRetriever
from langchain_core.vectorstores import VectorStore
from fullrecall.measures import Recall
from langchain_fullrecall import (
    LangChainChatModel, RecallStringEvaluator, RetrievalHandler, RetrieverCall,
    Selection, aevaluate_retriever, aretrieved, capture_retrievals, contexts, evaluate_retriever,
    retrieved, searcher,
)
from langsmith.evaluation import RunEvaluator


def use(documents: list[Document], retriever: BaseRetriever, store: VectorStore) -> None:
    evaluator = RecallStringEvaluator(IdRecall(), Recall @ 3, id_key=("source", "page"), retriever=store)
    returned: dict[str, Any] = evaluator.evaluate_strings(
        prediction=documents, reference=["a", 7], input="q", k=5
    )
    evaluator.evaluate_strings(prediction={"answer": "a", "context": documents}, reference={"a": 2})
    evaluator.evaluate_strings(prediction="a", retrieved_documents=[(d, 0.5) for d in documents])
    light: RunEvaluator = RecallStringEvaluator(
        which=Selection(tag="x", where=lambda call: bool(call.children), take="last"), ks=(1, 5)
    )
    with capture_retrievals(id_key=lambda document: document.metadata["source"]) as seen:
        retriever.invoke("q", {"callbacks": [RetrievalHandler(which="innermost")]})
    calls: tuple[RetrieverCall, ...] = seen.calls
    found: list[Context] | None = seen.contexts()
    sample: Sample = seen.sample(user_input="q")
    read: Sequence[Context] = contexts(documents, collapse=True)


def run(retriever: BaseRetriever, store: VectorStore, model: BaseChatModel) -> None:
    def search(question: str) -> list[Document]:
        return retriever.invoke(question)

    async def asearch(question: str) -> list[Document]:
        return await retriever.ainvoke(question)

    samples: Generator[Sample] = retrieved(store, [{"user_input": "q"}], id_key="source")
    report: Report = evaluate_retriever(search, samples, IdRecall(), progress=False)
    evaluate_retriever(retriever | len, [], [IdRecall()], max_concurrency=2)
    diagnose(report, corpus=contexts([Document("a")]), retriever=searcher(store))
    aretrieved(asearch, [])
    LLMJudge(LangChainChatModel(model.with_retry()))


async def wait(evaluator: RecallStringEvaluator, documents: list[Document]) -> float | None:
    report: Report = await aevaluate_retriever(lambda question: documents, [], IdRecall())
    returned = await evaluator.aevaluate_strings(prediction=documents, reference=["a"])
    score: float | None = returned["score"]
    return score
"""
WRONG = {
    "evaluator.evaluate_strings(k='5')": "arg-type",
    "RecallStringEvaluator(which='all')": "arg-type",
    "Selection(take='best')": "arg-type",
    "RecallStringEvaluator(id_keys='a')": "call-arg",
}


def check(programs: dict[str, str], folder: Path) -> list[str]:
    """Return what mypy says of programs, a line for each error; one run reads LangChain once."""
    for name, program in programs.items():
        (folder / name).write_text(program, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", "--no-error-summary", "--cache-dir",
         str(folder / "cache"), "--config-file", "", *programs],
        capture_output=True, text=True, check=False, cwd=folder,
    )  # fmt: skip
    assert done.stderr == ""
    return [line for line in done.stdout.splitlines() if ": error: " in line]


@pytest.mark.skipif(find_spec("mypy") is None, reason="mypy is missing: the extra test has it")
def test_the_signatures_take_what_users_hand_over(tmp_path: Path) -> None:
    """Documents, outputs and references are not only the strings of LangChain's base class."""
    head = PROGRAM.partition("def use")[0]
    lines = "".join(f"    {line}\n" for line in WRONG)
    wrong = f"{head}def wrong(evaluator: RecallStringEvaluator) -> None:\n{lines}"
    said = check({"right.py": PROGRAM, "wrong.py": wrong}, tmp_path)
    assert [line for line in said if not line.startswith("wrong.py:")] == []
    assert [line.rpartition("[")[2].rstrip("]") for line in said] == list(WRONG.values()), said
